import type { WatchRow } from "#hub/platform/db/rows.ts";
import { toIssues } from "#hub/platform/http/issues.ts";
import { AppError } from "#shared/kit/errors.ts";
import { type Job, SubmitJob } from "#shared/protocol/schema/job.ts";
import type { JobCreateContext } from "../jobs/job-contexts.ts";
import { submitCapture } from "../jobs/submit.ts";
import { nextTime } from "./next-time.ts";

/**
 * Makes the job of a watch. With `due_at` it is the one job of that time (rules/watches#one-capture-for-each-time).
 * @returns null when there is none to make: another hub has made it, or another capture is under way.
 * @throws AppError what POST /jobs would refuse
 */
export async function captureFor(
  ctx: JobCreateContext,
  watch: WatchRow,
  due_at: number | null,
): Promise<Job | null> {
  // The rules of options may have changed since the watch was written.
  const parsed = SubmitJob.safeParse({ url: watch.url, options: watch.options });
  if (!parsed.success) throw new AppError("invalid", toIssues(parsed.error.issues, "body"));
  const next_at = due_at === null ? null : nextTime(watch, due_at, ctx.clock.now());
  const { watch_id } = watch;
  const job = await submitCapture(ctx, parsed.data, { watch_id, due_at, next_at });
  if (job) ctx.log.info({ watch_id, job_id: job.job_id, due_at }, "capture of a watch submitted");
  return job;
}
