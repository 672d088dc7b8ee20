import type { FinishJob } from "#hub/platform/db/fleet-types.ts";
import type { JobRow } from "#hub/platform/db/rows.ts";
import { conflict, notFound } from "#shared/kit/errors.ts";
import type { FleetContext } from "../context.ts";
import { announceEnd } from "./events.ts";
import type { JobCancelContext } from "./job-contexts.ts";

/** How often a job may change hands (claimed, given back) while somebody cancels it. */
const TRIES = 5;

/**
 * queued or running → cancelled. The lane of a running one is stopped; what it stored so far is kept.
 * @throws AppError not_found, or conflict when the job has ended already.
 */
export async function cancelJob(ctx: JobCancelContext, job_id: string): Promise<JobRow> {
  const end: FinishJob = { status: "cancelled", error: null, now: ctx.clock.now() };
  for (let i = 0; i < TRIES; i++) {
    const job = await ctx.db.jobs.get(job_id);
    if (!job) throw notFound("job");
    const token = job.lease_token;
    const running = job.status === "running" && token !== null;
    if (!running && job.status !== "queued") throw conflict(`job is ${job.status} already`);
    const row = running
      ? await ctx.db.jobs.finish(job_id, token, end)
      : await ctx.db.jobs.finishQueued(job_id, end);
    if (!row) continue;
    if (running) stopLane(ctx, job, token);
    await announceEnd(ctx, row);
    return row;
  }
  throw conflict("job is changing hands; try again");
}

/** The lease stays until the lane is warm again. */
function stopLane(ctx: Pick<FleetContext, "links">, job: JobRow, lease_token: number): void {
  const link = job.worker_id === null ? undefined : ctx.links.get(job.worker_id);
  const held = link?.heldBy(job.job_id, lease_token);
  if (held) held.done = true;
  link?.send({ type: "HubCancelJob", job_id: job.job_id, lease_token, reason: "cancelled" });
}
