import { useMemo } from "react";
import type { Har } from "#shared/protocol/schema/har.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import { useGet } from "../../lib/query.ts";
import { requestLine } from "../player/model/requests.ts";
import type { TimedRow } from "../player/player.tsx";
import { Recording } from "../player/recording.tsx";
import { Viewer } from "../viewer/viewer.tsx";
import { typeOf } from "./har.ts";
import { lineOf } from "./log-line.ts";
import type { JobEvents } from "./use-events.ts";

const ONCE = { refetchInterval: false, staleTime: Number.POSITIVE_INFINITY, retry: false } as const;

/** What the job's browser showed and did, moment by moment; at its right end live, while the job runs. */
export function JobRecording({ job, feed }: { job: Job; feed: JobEvents }) {
  const { job_id, status, session_id, finished_at } = job;
  const over = finished_at !== null;
  const har = useGet("/jobs/{id}/har.json", { params: { id: job_id } }, { ...ONCE, enabled: over });
  const requests = useMemo(() => (har.data ? requestRows(har.data) : []), [har.data]);
  const log = useMemo(() => logRows(feed), [feed]);
  const of = useMemo(() => ({ kind: "job", id: job_id }) as const, [job_id]);
  return (
    <Recording
      of={of}
      requests={requests}
      no_requests={
        over ? "The page had requested nothing by then." : "The requests appear when the job ends."
      }
      log={log}
      live={
        status === "running" && session_id !== null ? (
          <Viewer sid={session_id} height="var(--player-height, 60dvh)" />
        ) : null
      }
    />
  );
}

/** Requests at the moment at which they began. */
const requestRows = ({ log }: Har): TimedRow[] =>
  log.entries.map((entry, i) => ({
    key: `q${i}`,
    at: Date.parse(entry.startedDateTime),
    ...requestLine(entry),
    note: typeOf(entry),
  }));

const logRows = ({ events }: JobEvents): TimedRow[] =>
  events.map((event) => {
    const { seq, level, stage, text } = lineOf(event, 0);
    return { key: `l${seq}`, at: Date.parse(event.ts), name: stage, text, level };
  });
