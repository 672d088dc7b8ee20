import type { WorkloadRow } from "#hub/platform/db/rows.ts";
import type { ExecutorState } from "#shared/protocol/schema/executor.ts";
import type { FlowLayout, FlowNode, FlowSnapshot } from "#shared/protocol/schema/flow.ts";
import type { PipelineContext } from "../context.ts";
import { isLive } from "../pull/is-live.ts";
import { SCHEDULED } from "../schedules/schedules.ts";
import { queueCounts } from "../tasks/queue.ts";
import { executorState } from "../workloads/executor-state.ts";
import {
  API,
  CRON,
  claimEdges,
  emitEdges,
  executorEdges,
  type Facts,
  isScheduled,
  pluginsOf,
  RECENT_RUNS,
  submitEdges,
  WINDOW_MIN,
  workerNode,
  workloadNode,
} from "./flow-edges.ts";
import { placeNodes } from "./flow-layout.ts";
import { MINUTE_MS, minuteOf } from "./flow-rates.ts";

/** Positions of missing nodes are kept too, in case the nodes come back. */
const MAX_POSITIONS = 10_000;

type Unplaced = Omit<FlowNode, "position">;

/**
 * GET /flow/snapshot (rules/pipeline-views#flow-snapshot): where tasks come from, what they pass through and who runs
 * them now.
 */
export async function getSnapshot(
  ctx: Pick<PipelineContext, "db" | "pipeline" | "wall_jumps">,
): Promise<FlowSnapshot> {
  const { db, pipeline, wall_jumps } = ctx;
  const now = await pipeline.store.now();
  const since = minuteOf(now) - (WINDOW_MIN - 1) * MINUTE_MS;
  const minutes = (now - since) / MINUTE_MS;
  const [workloads, all, counts, claimed, pairs, rates, saved] = await Promise.all([
    db.workloads.list(),
    db.pull_workers.list(),
    pipeline.store.counts(),
    db.views.claimed(),
    db.views.recentPairs(RECENT_RUNS, now - WINDOW_MIN * MINUTE_MS),
    db.flow.rates({ since }),
    db.flow.positions(),
  ]);
  const sums = new Map<string, number>();
  for (const { workload_id, metric, n } of rates) {
    const key = `${workload_id} ${metric}`;
    sums.set(key, (sums.get(key) ?? 0) + n);
  }
  const facts: Facts = {
    workloads,
    workers: all.filter((w) => isLive(wall_jumps, w)),
    rate: (workload_id, metric) => (sums.get(`${workload_id} ${metric}`) ?? 0) / minutes,
    rates,
  };
  const countsOf = new Map(counts.map((row) => [row.workload_id, queueCounts(row)]));
  const nodes: Unplaced[] = [
    ...sourceNodes(facts),
    ...workloads.map((w): Unplaced => {
      const {
        pending,
        claimed: running,
        failed,
      } = countsOf.get(w.workload_id) ?? queueCounts(undefined);
      const per_min = (metric: string) => Math.round(facts.rate(w.workload_id, metric) * 100) / 100;
      return {
        id: workloadNode(w.slug),
        kind: "workload",
        label: w.name,
        stats: {
          pending,
          claimed: running,
          failed,
          state: w.enabled ? "enabled" : "disabled",
          submitted_per_min: per_min("submitted"),
          succeeded_per_min: per_min("succeeded"),
          failed_per_min: per_min("failed"),
          ...executorStats(executorState(ctx, w, facts.workers)),
        },
      };
    }),
    ...pluginNodes(workloads),
    ...facts.workers.map(
      ({ worker_id, host, slots, in_flight, cpu_percent, draining }): Unplaced => {
        const state = draining ? "draining" : "active";
        return {
          id: workerNode(worker_id),
          kind: "worker",
          label: worker_id,
          stats: { host, state, slots, in_flight, cpu_percent },
        };
      },
    ),
  ];
  const edges = [
    ...submitEdges(facts),
    ...emitEdges(facts),
    ...executorEdges(workloads),
    ...claimEdges(facts, claimed, pairs, now),
  ];
  return { nodes: placeNodes(nodes, edges, saved), edges };
}

/** Nothing for a workload whose code loads. */
const executorStats = ({ state, error }: ExecutorState): Unplaced["stats"] =>
  state === "ok" ? {} : { executor: state, executor_error: error };

function sourceNodes({ workloads, rate }: Facts): Unplaced[] {
  const total = (metric: string) => workloads.reduce((n, w) => n + rate(w.workload_id, metric), 0);
  const scheduled = total(SCHEDULED);
  const source = (id: string, label: string, per_min: number): Unplaced => ({
    id,
    kind: "source",
    label,
    stats: { submitted_per_min: Math.round(per_min * 100) / 100 },
  });
  return [
    ...(workloads.length > 0
      ? [source(API, "API", Math.max(0, total("submitted") - scheduled))]
      : []),
    ...(workloads.some(isScheduled) ? [source(CRON, "Schedule", scheduled)] : []),
  ];
}

function pluginNodes(workloads: readonly WorkloadRow[]): Unplaced[] {
  const used = new Map<string, number>();
  for (const { plugin } of pluginsOf(workloads)) used.set(plugin, (used.get(plugin) ?? 0) + 1);
  return [...used].map(([plugin, n]) => ({
    id: `plugin:${plugin}`,
    kind: "plugin",
    label: plugin,
    stats: { workloads: n },
  }));
}

/**
 * POST /flow/layout: saves where nodes were put; other nodes stay where they are. Answers with every saved
 * position.
 */
export async function saveLayout(
  { db, clock }: Pick<PipelineContext, "db" | "clock">,
  { positions }: FlowLayout,
): Promise<FlowLayout> {
  const updated_at = clock.now();
  await db.flow.savePositions(
    Object.entries(positions).map(([node_id, { x, y }]) => ({ node_id, x, y, updated_at })),
    MAX_POSITIONS,
  );
  const rows = await db.flow.positions();
  return { positions: Object.fromEntries(rows.map(({ node_id, x, y }) => [node_id, { x, y }])) };
}

/** DELETE /flow/layout: forgets every saved position. */
export async function resetLayout({ db }: Pick<PipelineContext, "db">): Promise<FlowLayout> {
  await db.flow.forgetPositions();
  return { positions: {} };
}
