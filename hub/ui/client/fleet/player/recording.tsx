import { Alert } from "@mantine/core";
import { type ReactNode, useMemo } from "react";
import { FlotillaError } from "#shared/client/errors.ts";
import type { TimedEvent } from "#shared/recording/events.ts";
import type { Recording as Recorded } from "#shared/recording/record.ts";
import { errorText } from "../../lib/query.ts";
import { Empty, Loadable } from "../../parts/states.tsx";
import { Player, type PlayerExtras, type TimedRow } from "./player.tsx";
import { type RecordingOf, useRecording, useRecordingEvents } from "./source.ts";

/** A run of which nothing was recorded, as far as its record knows it. */
interface BareRun {
  started_at: string;
  ms: number;
  live: boolean;
}

interface RecordingProps extends PlayerExtras {
  of: RecordingOf;
  requests: readonly TimedRow[];
  no_requests: string;
  log: readonly TimedRow[];
  /** The live screen, while there is one. */
  live: ReactNode;
  /** False where it is known that there is no recording. */
  recorded?: boolean;
  /** Shown with the same panels where there is no recording. */
  bare?: BareRun;
}

const NO_EVENTS: readonly TimedEvent[] = [];

/** The recording of a job or a session, or what is known without one. */
export function Recording(props: RecordingProps) {
  const { of, recorded = true } = props;
  const query = useRecording(of, recorded);
  if (!recorded && props.bare) return <Unrecorded {...props} bare={props.bare} />;
  if (query.error instanceof FlotillaError && query.error.status === 404)
    return props.bare ? <Unrecorded {...props} bare={props.bare} /> : <Nothing {...props} />;
  return <Loadable query={query}>{(info) => <Played {...props} info={info} />}</Loadable>;
}

const Nothing = ({ live }: RecordingProps) =>
  live ?? (
    <Empty title="Nothing was recorded">
      Recording was switched off, the recording is older than the fleet keeps it, or its worker is
      of an earlier version.
    </Empty>
  );

function Unrecorded({ bare, ...props }: RecordingProps & { bare: BareRun }) {
  const { started_at, ms, live } = bare;
  const { kind, id } = props.of;
  const info = useMemo(
    (): Recorded => ({
      state: live ? "live" : "whole",
      mode: "off",
      job_id: kind === "job" ? id : null,
      session_id: id,
      started_at,
      ended_at: null,
      end_reason: null,
      ms,
      bytes: 0,
      width: null,
      height: null,
      events: 0,
      requests: 0,
      chunks: [],
    }),
    [kind, id, started_at, ms, live],
  );
  return <Player {...props} info={info} events={NO_EVENTS} bare />;
}

function Played({ info, bare: _, ...props }: RecordingProps & { info: Recorded }) {
  const { events, error } = useRecordingEvents(props.of, info.events);
  return (
    <>
      {info.state === "cut" && (
        <Alert color="yellow" p="xs" className="player-alert">
          The recording is incomplete{info.end_reason ? `: ${info.end_reason}` : ""}
        </Alert>
      )}
      {error !== null && (
        <Alert color="yellow" p="xs" role="status" className="player-alert">
          Not all that happened can be shown: {errorText(error)}
        </Alert>
      )}
      <Player {...props} info={info} events={events} />
    </>
  );
}
