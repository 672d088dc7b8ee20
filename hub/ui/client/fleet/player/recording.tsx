import { Alert } from "@mantine/core";
import type { ReactNode } from "react";
import { FlotillaError } from "#shared/client/errors.ts";
import type { Recording as Recorded } from "#shared/recording/record.ts";
import { errorText } from "../../lib/query.ts";
import { Empty, Loadable } from "../../parts/states.tsx";
import { Player, type TimedRow } from "./player.tsx";
import { type RecordingOf, useRecording, useRecordingEvents } from "./source.ts";

interface RecordingProps {
  of: RecordingOf;
  requests: readonly TimedRow[];
  no_requests: string;
  log: readonly TimedRow[];
  /** The live screen, while there is one. */
  live: ReactNode;
}

/** The recording of a job or a session, or why there is none. */
export function Recording(props: RecordingProps) {
  const query = useRecording(props.of);
  if (query.error instanceof FlotillaError && query.error.status === 404)
    return (
      props.live ?? (
        <Empty title="Nothing was recorded">
          Recording was switched off, the recording is older than the fleet keeps it, or its worker
          is of an earlier version.
        </Empty>
      )
    );
  return <Loadable query={query}>{(info) => <Played {...props} info={info} />}</Loadable>;
}

function Played({ info, ...props }: RecordingProps & { info: Recorded }) {
  const { events, error } = useRecordingEvents(props.of, info.events);
  return (
    <>
      {info.state === "cut" && (
        <Alert color="yellow" mb="sm" p="xs">
          The recording is incomplete{info.end_reason ? `: ${info.end_reason}` : ""}
        </Alert>
      )}
      {error !== null && (
        <Alert color="yellow" mb="sm" p="xs" role="status">
          Not all that happened can be shown: {errorText(error)}
        </Alert>
      )}
      <Player {...props} info={info} events={events} />
    </>
  );
}
