import type { Job } from "#shared/protocol/schema/job.ts";
import { durationText } from "../../lib/units.ts";
import { CaptureRing } from "../../parts/capture-ring.tsx";
import { jobLook } from "../../parts/status/job.ts";
import { StatusMark } from "../../parts/status-mark.tsx";
import { Elapsed } from "../../parts/text.tsx";

/** Never green for a page that answered with an error. */
export function JobState({ job, chip = false }: { job: Job; chip?: boolean }) {
  return (
    <StatusMark
      look={jobLook(job)}
      chip={chip}
      value={job.status}
      title={job.error ?? job.stage ?? undefined}
    />
  );
}

/** How much of what was seen is whole. */
export const JobRing = ({ job: { capture, asset_count, status } }: { job: Job }) => (
  <CaptureRing
    whole={capture?.captured ?? asset_count}
    of={capture?.seen ?? 0}
    running={status === "running"}
  />
);

/** How long it ran, by its record; counting while it runs. */
export function JobDuration({ job }: { job: Job }) {
  if (job.duration_ms !== null) return <>{durationText(job.duration_ms)}</>;
  return <Elapsed since={job.started_at} until={job.finished_at} />;
}
