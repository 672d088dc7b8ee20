import { RUN_OUTCOMES } from "#drizzle/tables/runs.ts";
import type { DashboardOverview, RunsSummary } from "#shared/protocol/schema/flow.ts";
import type { PipelineContext } from "../context.ts";
import { listTroubled } from "../supervisor/read-supervision.ts";
import { queueCounts } from "../tasks/queue.ts";
import { runRecords } from "../tasks/runs.ts";
import { brokenSentence, executorStates } from "../workloads/executor-state.ts";
import { MINUTE_MS, minuteOf } from "./flow-rates.ts";

/** How long a failure counts as recent, and how many are shown. */
const RECENT_MS = 86_400_000;
const MAX_FAILURES = 20;
/** Whole minutes over which the pace of a queue is averaged: of one alone it would jump. */
const PACE_MINUTES = 5;
/** Runs of each workload (rules/pipeline-views#runs-summary). */
const SPARKLINE = 20;

/**
 * GET /dashboard/overview (rules/pipeline-views#dashboard-overview): read from counters and indexes, however much the
 * queues hold.
 */
export async function getOverview(
  ctx: Pick<PipelineContext, "db" | "pipeline" | "wall_jumps">,
): Promise<DashboardOverview> {
  const { db, pipeline } = ctx;
  const now = await pipeline.store.now();
  const workloads = await db.workloads.list();
  const [counts, claimed, oldest, failures, supervised, executors, pace] = await Promise.all([
    pipeline.store.counts(),
    db.views.claimed(),
    db.views.oldestReady(),
    db.views.failures(now - RECENT_MS, MAX_FAILURES),
    listTroubled(ctx, workloads),
    executorStates(ctx, workloads),
    paceOf(ctx, now),
  ]);
  const countsOf = new Map(counts.map((row) => [row.workload_id, row]));
  const oldestOf = new Map(oldest.map((row) => [row.workload_id, row.created_at]));
  return {
    running: workloads.flatMap(({ workload_id, slug }) => {
      const held = claimed.filter((row) => row.workload_id === workload_id);
      if (held.length === 0) return [];
      const sum = held.reduce((n, row) => n + row.n, 0);
      return [{ workload: slug, claimed: sum, workers: held.length }];
    }),
    recent_failures: await runRecords(ctx, failures),
    supervised,
    problems: [...executors].flatMap(([workload, executor]) => {
      const { state, since, workers } = executor;
      if (state === "ok" || since === null) return [];
      const message = brokenSentence(executor);
      const kind = "broken_executor" as const;
      return [{ workload, kind, message, since, workers: workers.map(({ id }) => id) }];
    }),
    queue_depths: workloads.map(({ workload_id, slug }) => {
      const { total: _total, ...depths } = queueCounts(countsOf.get(workload_id));
      const since = oldestOf.get(workload_id);
      const oldest_pending_s = since === undefined ? null : Math.max(0, now - since) / 1_000;
      const done_per_min = pace.get(workload_id) ?? 0;
      return { workload: slug, ...depths, oldest_pending_s, done_per_min };
    }),
  };
}

/** Tasks that succeeded in a minute, by workload. The running minute is not whole, and left out. */
async function paceOf(
  { db }: Pick<PipelineContext, "db">,
  now: number,
): Promise<Map<number, number>> {
  const until = minuteOf(now);
  const since = until - PACE_MINUTES * MINUTE_MS;
  const pace = new Map<number, number>();
  for (const { minute, workload_id, n } of await db.flow.rates({ since, metric: "succeeded" }))
    if (minute < until) pace.set(workload_id, (pace.get(workload_id) ?? 0) + n / PACE_MINUTES);
  return pace;
}

/** GET /dashboard/workloads-runs-summary: from the runs, so it is exact for any number of control processes. */
export async function getRunsSummary({ db }: Pick<PipelineContext, "db">): Promise<RunsSummary> {
  const [workloads, rows] = await Promise.all([db.workloads.list(), db.views.lastRuns(SPARKLINE)]);
  const runsOf = new Map<number, boolean[]>();
  for (const { workload_id, outcome } of rows) {
    const runs = runsOf.get(workload_id) ?? [];
    runs.push(RUN_OUTCOMES[outcome] === "success");
    runsOf.set(workload_id, runs);
  }
  return {
    workloads: workloads.map(({ workload_id, slug }) => {
      const runs = (runsOf.get(workload_id) ?? []).slice(-SPARKLINE);
      const success_rate = runs.length === 0 ? null : runs.filter(Boolean).length / runs.length;
      return { slug, runs, success_rate };
    }),
  };
}
