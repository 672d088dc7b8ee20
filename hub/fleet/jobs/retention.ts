import type { JobRow } from "#hub/platform/db/rows.ts";
import { AppError } from "#shared/kit/errors.ts";
import type { FleetContext } from "../context.ts";
import { retainRecordings } from "../recordings/keep.ts";
import { fleetSetting } from "../registries/fleet-settings.ts";
import { endLostSessions } from "../sessions/past.ts";
import { removeLeftTraces } from "../sessions/traces.ts";
import { forgetProxiesOnce } from "./job-proxy.ts";
import { removeJob } from "./remove.ts";

/** How often to look for jobs that are too old or too many. */
export const RETAIN_JOBS_EVERY_MS = 60_000;
/** One hub of a fleet does it; another takes over this long after it was last heard from. */
const TURN_MS = 3 * RETAIN_JOBS_EVERY_MS;
const TURN_KEY = "turn:job-retention";
const DAY_MS = 86_400_000;
/** Jobs read at a time. */
const BATCH = 100;

type EndedJob = Pick<JobRow, "job_id" | "asset_bytes">;

/** False while it is another hub's turn: two hubs counting bytes at once would delete twice as many jobs. */
function takeTurn({ kv, hub_id }: Pick<FleetContext, "kv" | "hub_id">): Promise<boolean> {
  return kv.setIf(TURN_KEY, { hub_id }, { hub_id }, TURN_MS);
}

/**
 * Deletes ended jobs with their files, events and attempts: those older than `retention_days`, then the oldest with
 * assets while all assets take more than `retention_max_bytes`, then the oldest beyond `retention_max_count`
 * (settings; 0 = no bound). A job whose files cannot be deleted keeps its record and ends the pass; the next one tries again.
 */
export async function retainJobsOnce(ctx: FleetContext, signal?: AbortSignal): Promise<void> {
  if (!(await takeTurn(ctx))) return;
  await forgetProxiesOnce(ctx);
  await endLostSessions(ctx).catch((err) =>
    ctx.log.warn({ err }, "open records of sessions were not checked"),
  );
  await retainSessions(ctx);
  const goesOn = async () => !signal?.aborted && (await takeTurn(ctx));
  await retainRecordings(ctx, goesOn).catch((err) =>
    ctx.log.warn({ err }, "old recordings were not deleted; the next pass tries again"),
  );
  const expired = await expireJobs(ctx, signal);
  const trimmed = await trimJobs(ctx, signal);
  if (expired + trimmed > 0) ctx.log.info({ expired, trimmed }, "old jobs deleted");
}

/** Records of sessions that have ended. */
const MOST_SESSIONS = 100_000;

/** Deletes the records of sessions that are older than `retention_days`, then the oldest beyond 100,000. */
async function retainSessions(
  ctx: Pick<FleetContext, "clock" | "db" | "config" | "objects" | "settings_cache">,
): Promise<void> {
  const days = await fleetSetting(ctx, "retention_days");
  const too_old = days === 0 ? null : ctx.clock.now() - days * DAY_MS;
  const too_many = await ctx.db.sessions.endOfNth(MOST_SESSIONS);
  const ended_by = Math.max(too_old ?? 0, too_many ?? 0);
  if (ended_by === 0) return;
  let deleted = 0;
  let last = BATCH;
  while (last === BATCH) {
    last = await ctx.db.sessions.deleteEnded(ended_by, BATCH);
    deleted += last;
  }
  if (deleted > 0) await removeLeftTraces(ctx);
}

async function expireJobs(ctx: FleetContext, signal?: AbortSignal): Promise<number> {
  const days = await fleetSetting(ctx, "retention_days");
  if (days === 0) return 0;
  const ended_before = ctx.clock.now() - days * DAY_MS;
  let deleted = 0;
  for (;;) {
    const jobs = await ctx.db.jobs.oldestEnded({ ended_before, limit: BATCH });
    for (const job of jobs) {
      if (signal?.aborted) return deleted;
      await removeEnded(ctx, job);
      deleted += 1;
    }
    if (jobs.length < BATCH || !(await takeTurn(ctx))) return deleted;
  }
}

async function trimJobs(ctx: FleetContext, signal?: AbortSignal): Promise<number> {
  const max_bytes = await fleetSetting(ctx, "retention_max_bytes");
  const max_count = await fleetSetting(ctx, "retention_max_count");
  let deleted = 0;
  if (max_bytes > 0) {
    const over = (await ctx.db.jobs.assetBytes()) - max_bytes;
    deleted += await trimBy(
      ctx,
      { over, with_assets: true, shareOf: (job) => job.asset_bytes },
      signal,
    );
  }
  if (max_count > 0) {
    const over = (await ctx.db.jobs.endedCount()) - max_count;
    deleted += await trimBy(ctx, { over, with_assets: false, shareOf: () => 1 }, signal);
  }
  return deleted;
}

interface Trim {
  over: number;
  /** Whether jobs without assets stay. */
  with_assets: boolean;
  /** What the end of a job takes away from what is over. */
  shareOf(job: EndedJob): number;
}

/** Deletes the oldest until nothing is over; the number of those deleted. */
async function trimBy(
  ctx: FleetContext,
  { over, with_assets, shareOf }: Trim,
  signal?: AbortSignal,
): Promise<number> {
  let left = over;
  let deleted = 0;
  while (left > 0) {
    const jobs = await ctx.db.jobs.oldestEnded({ with_assets, limit: BATCH });
    for (const job of jobs) {
      if (left <= 0 || signal?.aborted) return deleted;
      await removeEnded(ctx, job);
      left -= shareOf(job);
      deleted += 1;
    }
    if (jobs.length < BATCH || !(await takeTurn(ctx))) return deleted;
  }
  return deleted;
}

/** Another call may have just deleted it. */
async function removeEnded(ctx: FleetContext, { job_id }: EndedJob): Promise<void> {
  try {
    await removeJob(ctx, job_id);
  } catch (err) {
    if (!(err instanceof AppError && err.kind === "not_found")) throw err;
  }
}
