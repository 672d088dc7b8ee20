import type { ClusterContext } from "#hub/platform/context.ts";
import { AppError } from "#shared/kit/errors.ts";
import type { FleetContext } from "../context.ts";
import { retainRecordings } from "../recordings/keep.ts";
import { fleetSetting } from "../registries/fleet-settings.ts";
import {
  deleteOldest,
  type Excess,
  newPass,
  RETENTION_BATCH,
  type RetentionPass,
} from "../retention/delete-oldest.ts";
import { readStuck, reportStuck } from "../retention/stuck.ts";
import { endLostSessions } from "../sessions/past.ts";
import { removeLeftTraces } from "../sessions/traces.ts";
import type { JobRemovalContext } from "./job-contexts.ts";
import { forgetProxiesOnce } from "./job-proxy.ts";
import { removeJob } from "./remove.ts";

/** What deletes old jobs by the settings, and remembers what could not be deleted. */
type RetentionContext = JobRemovalContext & Pick<FleetContext, "settings_cache" | "stores_health">;

/** How often to look for jobs that are too old or too many. */
export const RETAIN_JOBS_EVERY_MS = 60_000;
/** One hub of a fleet does it; another takes over this long after it was last heard from. */
const TURN_MS = 3 * RETAIN_JOBS_EVERY_MS;
const TURN_KEY = "turn:job-retention";
const DAY_MS = 86_400_000;

/**
 * Takes the turn or makes it last longer. False while it is another hub's: two hubs counting bytes at once would delete
 * twice as many jobs.
 */
function takeTurn({ kv, hub_id }: Pick<FleetContext, "kv" | "hub_id">): Promise<boolean> {
  return kv.setIf(TURN_KEY, { hub_id }, { hub_id }, TURN_MS);
}

/**
 * Deletes ended jobs with their files, events and attempts: those older than `retention_days`, then the oldest with
 * files while the files of all jobs take more than `retention_max_bytes`, then the oldest beyond `retention_max_count`
 * (settings; 0 = no bound). What cannot be deleted keeps its record; the next pass tries again.
 */
export async function retainJobsOnce(
  ctx: ClusterContext & RetentionContext & Pick<FleetContext, "awaited">,
  signal?: AbortSignal,
): Promise<void> {
  if (!(await takeTurn(ctx))) return;
  const pass = newPass(async () => !signal?.aborted && (await takeTurn(ctx)));
  try {
    await retainAll(ctx, pass);
  } finally {
    await reportStuck(ctx, pass, TURN_MS).catch((err) =>
      ctx.log.warn({ err }, "what retention could not delete is not told of"),
    );
  }
}

async function retainAll(
  ctx: ClusterContext & RetentionContext & Pick<FleetContext, "awaited">,
  pass: RetentionPass,
): Promise<void> {
  await forgetProxiesOnce(ctx);
  await endLostSessions(ctx).catch((err) =>
    ctx.log.warn({ err }, "open records of sessions were not checked"),
  );
  await retainSessions(ctx, pass).catch((err) =>
    ctx.log.warn({ err }, "old records of sessions were not deleted; the next pass tries again"),
  );
  await retainRecordings(ctx, pass).catch((err) =>
    ctx.log.warn({ err }, "old recordings were not deleted; the next pass tries again"),
  );
  const expired = await expireJobs(ctx, pass);
  const trimmed = await trimJobs(ctx, pass);
  const { failed } = pass;
  if (expired + trimmed > 0) ctx.log.info({ expired, trimmed, failed }, "old jobs deleted");
}

/** Records of sessions that have ended. */
const MOST_SESSIONS = 100_000;

/** Deletes the records of sessions that are older than `retention_days`, then the oldest beyond 100,000. */
async function retainSessions(
  ctx: Pick<
    FleetContext,
    | "clock"
    | "db"
    | "config"
    | "kv"
    | "log"
    | "meters"
    | "objects"
    | "settings_cache"
    | "stores_health"
  >,
  pass: RetentionPass,
): Promise<void> {
  const days = await fleetSetting(ctx, "retention_days");
  const too_old = days === 0 ? null : ctx.clock.now() - days * DAY_MS;
  const too_many = await ctx.db.sessions.endOfNth(MOST_SESSIONS);
  const ended_by = Math.max(too_old ?? 0, too_many ?? 0);
  let deleted = 0;
  let last = RETENTION_BATCH;
  while (ended_by > 0 && last === RETENTION_BATCH && (await pass.goesOn())) {
    last = await ctx.db.sessions.deleteEnded(ended_by, RETENTION_BATCH);
    deleted += last;
  }
  // The records of traces that could not be deleted are gone, so nothing else would look for them.
  if (deleted > 0 || (await readStuck(ctx)) !== null) await removeLeftTraces(ctx, pass);
}

async function expireJobs(ctx: RetentionContext, pass: RetentionPass): Promise<number> {
  const days = await fleetSetting(ctx, "retention_days");
  if (days === 0) return 0;
  const ended_before = ctx.clock.now() - days * DAY_MS;
  return deleteJobs(ctx, pass, { ended_before });
}

async function trimJobs(ctx: RetentionContext, pass: RetentionPass): Promise<number> {
  const max_bytes = await fleetSetting(ctx, "retention_max_bytes");
  const max_count = await fleetSetting(ctx, "retention_max_count");
  let deleted = 0;
  if (max_bytes > 0) {
    const over = (await ctx.db.jobs.fileBytes()) - max_bytes;
    const shareOf = (job: EndedJob) => job.file_bytes;
    deleted += await deleteJobs(ctx, pass, { over, with_files: true, shareOf });
  }
  if (max_count > 0) {
    const over = (await ctx.db.jobs.endedCount()) - max_count;
    deleted += await deleteJobs(ctx, pass, { over, shareOf: () => 1 });
  }
  return deleted;
}

type EndedFilter = Parameters<FleetContext["db"]["jobs"]["oldestEnded"]>[0];
type EndedJob = Awaited<ReturnType<FleetContext["db"]["jobs"]["oldestEnded"]>>[number];

const deleteJobs = (
  ctx: RetentionContext,
  pass: RetentionPass,
  { over, shareOf, ...filter }: Excess<EndedJob> & Pick<EndedFilter, "ended_before" | "with_files">,
): Promise<number> =>
  deleteOldest<EndedJob>(ctx, pass, {
    what: "job",
    over,
    shareOf,
    idOf: ({ job_id }) => job_id,
    read: (after) => ctx.db.jobs.oldestEnded({ ...filter, after, limit: RETENTION_BATCH }),
    remove: (job) => removeEnded(ctx, job),
  });

/** Another call may have just deleted it. */
async function removeEnded(ctx: JobRemovalContext, { job_id }: EndedJob): Promise<void> {
  try {
    await removeJob(ctx, job_id);
  } catch (err) {
    if (!(err instanceof AppError && err.kind === "not_found")) throw err;
  }
}
