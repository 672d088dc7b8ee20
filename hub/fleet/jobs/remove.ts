import { AppError, conflict, notFound } from "#shared/kit/errors.ts";
import { isTerminal } from "#shared/protocol/schema/job.ts";
import { removeRecordingsOf } from "../recordings/keep.ts";
import { cancelJob } from "./cancel.ts";
import type { JobCancelContext, JobRemovalContext } from "./job-contexts.ts";
import { endKeptSession } from "./job-sessions.ts";
import { jobPrefix } from "./stored-files.ts";

/**
 * Deletes the job, its events and its files (rules/jobs#delete-a-job); one that has not ended is cancelled first.
 * Files go before the row, so that a delete which was cut off can be repeated.
 * @throws AppError not_found.
 */
export async function removeJob(ctx: JobRemovalContext, job_id: string): Promise<void> {
  const job = await ctx.db.jobs.get(job_id);
  if (!job) throw notFound("job");
  if (!isTerminal(job.status)) await cancelUnlessEnded(ctx, job_id);
  await endKeptSession(ctx, job);
  const { session_id } = job;
  if (session_id !== null) ctx.cluster.tell({ type: "job_removed", job_id, session_id });
  await removeRecordingsOf(ctx, job_id);
  await ctx.objects.deletePrefix(jobPrefix(job_id));
  if (await ctx.db.jobs.deleteTerminal(job_id)) return ctx.bus.publish(job_id);
  if (await ctx.db.jobs.get(job_id)) throw conflict("job has not ended");
}

async function cancelUnlessEnded(ctx: JobCancelContext, job_id: string): Promise<void> {
  try {
    await cancelJob(ctx, job_id);
  } catch (err) {
    const job =
      err instanceof AppError && err.kind === "conflict" && (await ctx.db.jobs.get(job_id));
    if (!job || !isTerminal(job.status)) throw err;
  }
}
