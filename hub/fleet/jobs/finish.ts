import type { FinishJob } from "#hub/platform/db/fleet-types.ts";
import { isoTime } from "#shared/kit/clock.ts";
import type { JobLog, WorkerResult } from "#shared/protocol/link/messages.ts";
import type { FleetContext } from "../context.ts";
import { lostError } from "../links/loss.ts";
import type { JobLane, WorkerLink } from "../links/worker-link.ts";
import { announceEnd, logEvent, storeLines } from "./events.ts";
import { checkedFinalState } from "./final-state.ts";
import type { JobEndContext, JobFinishContext } from "./job-contexts.ts";
import { newLines } from "./take-up.ts";
import { storeUnstoredOnce } from "./unstored.ts";

/** Stores the worker's log lines and keeps the row's stage at that of the last line. */
export async function storeJobLog(
  ctx: Pick<FleetContext, "db" | "bus">,
  held: JobLane,
  message: JobLog,
): Promise<void> {
  const { job_id, token } = held.lease;
  const entries = newLines(held, message.entries);
  const last = entries.at(-1);
  if (!last) return;
  held.unlogged.push(...entries.map(logEvent));
  await storeLines(ctx, job_id, held.unlogged);
  if (last.stage === held.stage) return;
  held.stage = last.stage;
  await ctx.db.jobs.setStage(job_id, token, last.stage);
}

/** running → completed or failed, as the worker reports (rules/jobs#states). False when the lease was not the job's. */
export async function finishJob(
  ctx: JobFinishContext,
  held: JobLane,
  result: WorkerResult,
): Promise<boolean> {
  const { http_status, final_url, title, capture } = result;
  const { status, error, stage } = endOf(ctx, held, result);
  const end: FinishJob = {
    status,
    error: status === "failed" ? (error ?? "the worker gave no reason") : error,
    now: ctx.clock.now(),
    stage: stage ?? held.stage,
    http_status:
      http_status !== null && http_status >= 0 && http_status < 1000 ? http_status : null,
    final_url,
    title,
    capture,
    final_state: await checkedFinalState(ctx, held, result.final_state ?? null),
  };
  return endHeld(ctx, held, end, true);
}

/** A scripted job completes when its script has reached its end, and no worker may decide that. */
function endOf(
  { scripted }: Pick<FleetContext, "scripted">,
  held: JobLane,
  result: WorkerResult,
): Pick<WorkerResult, "status" | "error" | "stage"> {
  if (result.status === "failed" || !scripted.lanes.has(held) || scripted.ended.has(held))
    return result;
  return { status: "failed", error: "the worker ended the run before its script", stage: "run" };
}

/** running → failed: the worker's lane is free again and no result ever came. */
export async function failAbandoned(
  ctx: JobFinishContext,
  link: WorkerLink,
  held: JobLane,
): Promise<void> {
  await endHeld(ctx, held, {
    status: "failed",
    error: `worker ${link.worker_id} ended the run without a result`,
    now: ctx.clock.now(),
    stage: held.stage,
  });
}

/** False when the job was not this lease's any more. */
async function endHeld(
  ctx: JobFinishContext,
  held: JobLane,
  end: FinishJob,
  reported = false,
): Promise<boolean> {
  const { job_id, token } = held.lease;
  held.done = true;
  try {
    await storeLines(ctx, job_id, held.unlogged).catch((err) =>
      ctx.log.warn({ job_id, err }, "lines of a job were not stored"),
    );
    const row = await ctx.db.jobs.finish(job_id, token, end);
    if (row) await announceEnd(ctx, row, reported);
    return row !== null;
  } catch (err) {
    // Not stored. A result is kept until it is stored; a job without one is tried again when its lane is next seen
    // free.
    if (reported) ctx.unstored.set(token, { job_id, end, log: held.unlogged });
    else held.done = false;
    throw err;
  }
}

/**
 * running → failed: the link the jobs ran on is gone (rules/jobs#lost-workers), unless another hub leads them by now.
 */
export async function failJobsOn(
  ctx: JobFinishContext,
  link: WorkerLink,
  cause: string,
): Promise<void> {
  await storeUnstoredOnce(ctx);
  const tokens = link.jobLanes().map((held) => held.lease.token);
  const { worker_id } = link;
  const now = ctx.clock.now();
  const leases = { hub_id: ctx.hub_id, worker_id, tokens };
  const rows = await ctx.db.jobs.failRunningUnder(leases, lostError(cause), now);
  for (const row of rows) await announceEnd(ctx, row);
}

/**
 * running → failed: the worker restarted, here or while moving from another hub to this one (rules/jobs#lost-workers).
 */
export async function failJobsOf(ctx: JobFinishContext, worker_id: string): Promise<void> {
  await storeUnstoredOnce(ctx);
  const now = ctx.clock.now();
  const cause = `worker ${worker_id} linked to this hub at ${isoTime(now)}, and the link on which the job ran is gone`;
  const rows = await ctx.db.jobs.failRunningOf(worker_id, lostError(cause), now);
  for (const row of rows) await announceEnd(ctx, row);
}

/**
 * At the start of a hub with no other hub alive, jobs left running fail (rules/jobs#hub-restarts), except those of
 * workers that may come back with them.
 */
export async function failLeftovers(
  ctx: JobEndContext & Pick<FleetContext, "awaited">,
): Promise<void> {
  const now = ctx.clock.now();
  const cause = `this hub started at ${isoTime(now)}, and no hub was there to lead it`;
  const awaited = [...ctx.awaited.links.keys()];
  const rows = await ctx.db.jobs.failAllRunning(lostError(cause), now, awaited);
  for (const row of rows) await announceEnd(ctx, row);
}

/** A worker that could have come back with what it ran under the previous hub did not. */
export async function failAwaited(ctx: JobEndContext, worker_id: string): Promise<void> {
  const now = ctx.clock.now();
  const grace_s = ctx.config.link_grace_ms / 1_000;
  const cause = `the hub was started anew, and worker ${worker_id} was not back within ${grace_s} s, at ${isoTime(now)}`;
  const rows = await ctx.db.jobs.failRunningOf(worker_id, lostError(cause), now);
  for (const row of rows) await announceEnd(ctx, row);
}
