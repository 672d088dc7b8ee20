import { useMemo } from "react";
import { errorText } from "../../lib/query.ts";
import { typeOf } from "../job/har.ts";
import { requestLine } from "../player/model/requests.ts";
import type { TimedRow } from "../player/player.tsx";
import { Recording } from "../player/recording.tsx";
import { useRecording } from "../player/source.ts";
import { Viewer } from "../viewer/viewer.tsx";
import { useSessionRequests } from "./use-requests.ts";

const NO_LOG: readonly TimedRow[] = [];

interface SessionRecordingProps {
  sid: string;
  open: boolean;
  /** Whether it has left a Playwright trace. */
  trace: boolean;
}

/** What a session showed and did, moment by moment; at its right end live, while it is open. */
export function SessionRecording({ sid, open, trace }: SessionRecordingProps) {
  const of = useMemo(() => ({ kind: "session", id: sid }) as const, [sid]);
  const { data } = useRecording(of);
  // A job's session shows the recording of its job, whose own page has the requests.
  const own = data?.job_id === null ? data.requests : 0;
  const { entries, error } = useSessionRequests(sid, own);
  const requests = useMemo(
    () =>
      entries.map(
        (entry): TimedRow => ({
          key: `q${entry._n}`,
          at_ms: entry._at_ms ?? 0,
          ...requestLine(entry),
          har: entry,
          note: typeOf(entry),
        }),
      ),
    [entries],
  );
  return (
    <Recording
      of={of}
      requests={requests}
      no_requests={noRequestsText(error, own)}
      log={NO_LOG}
      trace={trace}
      live={open ? <Viewer sid={sid} height="var(--live-height, 60dvh)" /> : null}
    />
  );
}

function noRequestsText(error: unknown, count: number): string {
  if (error !== null) return `The requests cannot be read: ${errorText(error)}`;
  return count === 0 ? "No requests were noted in this recording." : "The requests are being read.";
}
