import { useMemo } from "react";
import type { TimedRow } from "../player/player.tsx";
import { Recording } from "../player/recording.tsx";
import { Viewer } from "../viewer/viewer.tsx";

const NONE: readonly TimedRow[] = [];

/** What a session showed and did, moment by moment; at its right end live, while it is open. */
export function SessionRecording({ sid, open }: { sid: string; open: boolean }) {
  const of = useMemo(() => ({ kind: "session", id: sid }) as const, [sid]);
  return (
    <Recording
      of={of}
      requests={NONE}
      no_requests="Of a session only failed requests are kept: they stand in the console."
      log={NONE}
      live={open ? <Viewer sid={sid} height="var(--player-height, 60dvh)" /> : null}
    />
  );
}
