import type { PipelineContext } from "../context.ts";

/** Rows of one transaction: small enough that claims and reports do not wait for it. */
const CHUNK = 1_000;
const DAY_MS = 86_400_000;
/** Slightly more than the longest window that can be requested: 2,880 minutes (rules/pipeline-views#flow-rates). */
const MINUTES_KEPT_MS = 2 * DAY_MS + 3_600_000;

type Retention = Pick<PipelineContext, "db" | "clock" | "log"> & {
  config: Pick<PipelineContext["config"], "retention">;
};

/**
 * Lets claims and reports that have arrived in the meantime go first: SQLite answers within one turn of the event loop.
 */
const giveWay = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Runs `piece` until it has nothing left to do or `signal` aborts; returns the sum of what it returned. */
async function piecewise(piece: () => Promise<number>, signal?: AbortSignal): Promise<number> {
  let sum = 0;
  while (!signal?.aborted) {
    const n = await piece();
    if (n === 0) break;
    sum += n;
    await giveWay();
  }
  return sum;
}

/** Deletes runs that ended longer ago than `run_days` (0: none). */
async function expireRuns({ db, clock, config }: Retention, signal?: AbortSignal): Promise<number> {
  const { run_days } = config.retention;
  if (run_days === 0) return 0;
  const finished_before = clock.now() - run_days * DAY_MS;
  let after = 0;
  return piecewise(async () => {
    const { deleted, last } = await db.retention.expireRuns({
      after,
      finished_before,
      limit: CHUNK,
    });
    after = last;
    return deleted;
  }, signal);
}

/** Deletes the oldest runs of every workload that has more than `runs_per_workload` (0: no limit). */
async function trimRuns({ db, config }: Retention, signal?: AbortSignal): Promise<number> {
  const { runs_per_workload } = config.retention;
  if (runs_per_workload === 0) return 0;
  let sum = 0;
  for (const { workload_id } of await db.workloads.list()) {
    if (signal?.aborted) break;
    const upto = await db.retention.firstBeyond(workload_id, runs_per_workload);
    if (upto === null) continue;
    let after = 0;
    sum += await piecewise(async () => {
      const { deleted, last } = await db.retention.trimRuns({
        workload_id,
        after,
        upto,
        limit: CHUNK,
      });
      after = last;
      return deleted;
    }, signal);
  }
  return sum;
}

/** Deletes labels of tasks that neither the queue nor a run knows any more. */
async function pruneLabels({ db }: Retention, signal?: AbortSignal): Promise<void> {
  let after: number | null = 0;
  while (after !== null && !signal?.aborted) {
    after = (await db.task_labels.prune(after, CHUNK)).last;
    await giveWay();
  }
}

/** Deletes what is older than its bounds: runs by age and count, minutes of rates and GPUs by age. */
export async function retainOnce(ctx: Retention, signal?: AbortSignal): Promise<void> {
  const expired = await expireRuns(ctx, signal);
  const trimmed = await trimRuns(ctx, signal);
  const { run_days } = ctx.config.retention;
  // Notes of attempts without a run: the task was given back, or the notes came after the attempt was over.
  if (run_days > 0)
    await piecewise(
      () => ctx.db.run_notes.prune(ctx.clock.now() - run_days * DAY_MS, CHUNK),
      signal,
    );
  await pruneLabels(ctx, signal);
  const minutes = await piecewise(
    () => ctx.db.retention.pruneMinutes(ctx.clock.now() - MINUTES_KEPT_MS),
    signal,
  );
  if (expired + trimmed > 0) ctx.log.info({ expired, trimmed, minutes }, "old runs deleted");
}

/**
 * Deletes what a deleted workload left: its tasks, the keys that were taken once, then its counters and schedule. At
 * most `pieces` pieces of a thousand; false when more are left. Its runs stay until they are too old.
 */
export async function purgeWorkload(
  { db }: Pick<PipelineContext, "db">,
  workload_id: number,
  { pieces = Number.POSITIVE_INFINITY, signal }: { pieces?: number; signal?: AbortSignal } = {},
): Promise<boolean> {
  const { purgeTasks, purgeKeys, purgeRest } = db.retention;
  let done = 0;
  for (const purge of [purgeTasks, purgeKeys])
    for (let after: string | null = ""; after !== null; ) {
      if (done === pieces || signal?.aborted) return false;
      if (done > 0) await giveWay();
      after = await purge(workload_id, after, CHUNK);
      if (after !== null) done += 1;
    }
  await purgeRest(workload_id);
  return true;
}

/** Continues with workloads whose deletion left tasks behind, even when the process that deleted them has ended. */
export async function purgeOnce(
  ctx: Pick<PipelineContext, "db" | "log">,
  signal?: AbortSignal,
): Promise<void> {
  for (const workload_id of await ctx.db.retention.deletedWorkloads())
    if (await purgeWorkload(ctx, workload_id, signal ? { signal } : {}))
      ctx.log.info({ workload_id }, "queue of a deleted workload removed");
}
