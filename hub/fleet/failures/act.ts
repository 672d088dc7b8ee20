import type { JobFilter } from "#hub/platform/db/fleet-types.ts";
import type { JobRow } from "#hub/platform/db/rows.ts";
import { checkNarrowed, checkNumber } from "#hub/platform/http/at-most.ts";
import { AppError, errorMessage, invalid } from "#shared/kit/errors.ts";
import { isMasked } from "#shared/protocol/proxy.ts";
import {
  type JobChangesMade,
  type JobSelection,
  MAX_EXAMPLES,
} from "#shared/protocol/schema/failure.ts";
import { type JobStatus, SubmitJob, TERMINAL } from "#shared/protocol/schema/job.ts";
import type { FleetContext } from "../context.ts";
import { cancelJob } from "../jobs/cancel.ts";
import type { JobCreateContext, JobRemovalContext } from "../jobs/job-contexts.ts";
import { pagesOfJobs } from "../jobs/read-jobs.ts";
import { removeJob } from "../jobs/remove.ts";
import { submitRetry } from "../jobs/submit.ts";

/** What can be done to many jobs at once (rules/failures#acting-on-jobs). */
export type JobAction = "retry" | "cancel" | "delete";

/** The states that an action is for, and those that it means where none is named. */
const FOR: Record<JobAction, { any: readonly JobStatus[]; meant: readonly JobStatus[] }> = {
  retry: { any: TERMINAL, meant: ["failed"] },
  cancel: { any: ["queued", "running"], meant: ["queued", "running"] },
  delete: { any: TERMINAL, meant: ["failed"] },
};
/** Jobs read at a time, and changed at a time: a cancelled or deleted one takes its lane and its files along. */
const BATCH = 100;
const AT_ONCE = 8;
/** After this time a call answers with what is done, and the caller goes on with the same call. */
const ACT_MS = 20_000;
const MAX_REFUSALS = 20;

/** Null: changed; else why not, or that it had moved on. */
type Refusal = string | "moved on" | null;
const MOVED_ON = "moved on";

function filterOf(action: JobAction, { dry_run, at_most, ...filter }: JobSelection): JobFilter {
  const { any, meant } = FOR[action];
  if (Object.values(filter).every((value) => value === undefined))
    throw invalid(["body"], "name at least one filter, such as fingerprint, status or host");
  const { status, result: _result, ...narrowing } = filter;
  if (!dry_run)
    checkNarrowed(
      Object.values(narrowing).some((value) => value !== undefined),
      at_most,
    );
  if (status !== undefined && !any.includes(status))
    throw invalid(["body", "status"], `must be ${any.join(" or ")} to ${action} jobs`);
  const statuses = status === undefined ? meant : undefined;
  return { ...filter, statuses, not_retried: action === "retry" };
}

/** What any of the actions needs. */
type ActContext = JobCreateContext & JobRemovalContext;

/** The options and labels of its record, without what the hub itself added. */
async function retryJob(ctx: JobCreateContext, job: JobRow): Promise<Refusal> {
  if (job.options.proxy && isMasked(job.options.proxy))
    return "the login of its proxy is not kept: submit it again with the proxy";
  const { fetch_recipe: _recipe, ...options } = job.options;
  const asked = SubmitJob.safeParse({ url: job.url, options, labels: job.labels ?? {} });
  if (!asked.success)
    return `its options are not valid any more: ${asked.error.issues[0]?.message}`;
  return (await submitRetry(ctx, asked.data, job.job_id)) === null ? MOVED_ON : null;
}

const DO: Record<JobAction, (ctx: ActContext, job: JobRow) => Promise<Refusal>> = {
  retry: retryJob,
  cancel: async (ctx, { job_id }) => {
    await cancelJob(ctx, job_id);
    return null;
  },
  delete: async (ctx, { job_id }) => {
    await removeJob(ctx, job_id);
    return null;
  },
};

async function changeOne(ctx: ActContext, action: JobAction, job: JobRow): Promise<Refusal> {
  try {
    return await DO[action](ctx, job);
  } catch (err) {
    // A database that is away ends the whole call, and so does a disk that is full.
    if (!(err instanceof AppError) || err.kind === "unavailable") throw err;
    const is_gone = err.kind === "not_found" || (action !== "retry" && err.kind === "conflict");
    return is_gone ? MOVED_ON : errorMessage(err);
  }
}

/** Newest first, so it does not meet the jobs that it makes itself. */
async function changeAll(
  ctx: ActContext & Pick<FleetContext, "stopping">,
  action: JobAction,
  filter: JobFilter,
  { at_most = Number.POSITIVE_INFINITY }: JobSelection,
  done: JobChangesMade,
): Promise<void> {
  if (Number.isFinite(at_most)) checkNumber(await ctx.db.jobs.count(filter), at_most);
  const late = ctx.clock.monotonic() + ACT_MS;
  for await (const jobs of pagesOfJobs(ctx, filter, BATCH))
    for (let at = 0; at < jobs.length; at += AT_ONCE) {
      if (ctx.clock.monotonic() >= late || ctx.stopping.aborted) {
        done.complete = false;
        return;
      }
      // What came since they were counted is not meant.
      const some = jobs.slice(at, at + Math.min(AT_ONCE, at_most - done.matched));
      if (some.length === 0) return;
      const ends = await Promise.all(some.map((job) => changeOne(ctx, action, job)));
      for (const [i, refusal] of ends.entries()) count(done, some[i] as JobRow, refusal);
    }
}

function count(done: JobChangesMade, { job_id, url, status }: JobRow, refusal: Refusal): void {
  done.matched += 1;
  if (done.examples.length < MAX_EXAMPLES) done.examples.push({ job_id, url, status });
  if (refusal === null) done.changed += 1;
  else if (refusal === MOVED_ON) done.moved_on += 1;
  else {
    done.refused += 1;
    if (done.refusals.length < MAX_REFUSALS) done.refusals.push({ job_id, reason: refusal });
  }
}

/**
 * Retries, cancels or deletes the jobs that a filter finds, or says how many it would be.
 * @throws AppError invalid
 */
export async function actOnJobs(
  ctx: ActContext & Pick<FleetContext, "stopping">,
  action: JobAction,
  asked: JobSelection,
): Promise<JobChangesMade> {
  const filter = filterOf(action, asked);
  const { dry_run } = asked;
  const numbers = { matched: 0, changed: 0, moved_on: 0, refused: 0, complete: true };
  const done: JobChangesMade = { dry_run, ...numbers, refusals: [], examples: [] };
  if (!dry_run) {
    await changeAll(ctx, action, filter, asked, done);
    const { matched, changed, refused } = done;
    ctx.log.info({ action, matched, changed, refused }, "jobs changed by a filter");
    return done;
  }
  const [matched, jobs] = await Promise.all([
    ctx.db.jobs.count(filter),
    ctx.db.jobs.list({ ...filter, limit: MAX_EXAMPLES }, null),
  ]);
  const examples = jobs.map(({ job_id, url, status }) => ({ job_id, url, status }));
  return { ...done, matched, examples };
}
