import type { Job } from "#shared/protocol/schema/job.ts";
import { durationText } from "../../lib/units.ts";
import { Elapsed, Status } from "../../parts/text.tsx";

/** A page that answers from here on has refused or failed, whatever was captured of it. */
const FIRST_ERROR = 400;

/** What a completed job says beyond its status; nothing where all is as hoped. */
function beyond({ status, http_status, changed }: Pick<Job, "status" | "http_status" | "changed">) {
  if (status !== "completed") return null;
  if (http_status !== null && http_status >= FIRST_ERROR)
    return { word: `completed · ${http_status}`, color: "orange" };
  return changed ? { word: "changed", color: "blue" } : null;
}

/** Never green for a page that answered with an error. */
export function JobState({ job }: { job: Job }) {
  return <Status value={job.status} {...beyond(job)} title={job.stage ?? undefined} />;
}

/** How long it ran, by its record; counting while it runs. */
export function JobDuration({ job }: { job: Job }) {
  if (job.duration_ms !== null) return <>{durationText(job.duration_ms)}</>;
  return <Elapsed since={job.started_at} until={job.finished_at} />;
}
