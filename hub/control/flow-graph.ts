import { emitMetric, emitTarget } from "#drizzle/queue-tables.ts";
import type { FlowEdge, FlowLayout, FlowNode, FlowSnapshot } from "#shared/schema/flow.ts";
import { PULL_OFFLINE_MS } from "#shared/schema/pull.ts";
import type { PullWorkerRow, WorkloadRow } from "../db/types.ts";
import type { RatePoint } from "../db/view-types.ts";
import type { ControlContext } from "./context.ts";
import { placeNodes } from "./flow-layout.ts";
import { MINUTE_MS, minuteOf } from "./flow-rates.ts";
import { queueCounts } from "./queue.ts";
import { SCHEDULED } from "./schedules.ts";

/** Rates of edges are means over this many minutes, the running one included. */
const WINDOW_MIN = 5;
/** Runs that tell who ran what lately. */
const RECENT_RUNS = 1_000;

/** Positions of nodes that are gone are kept too, for when they come back. */
const MAX_POSITIONS = 10_000;

const API = "source:api";
const CRON = "source:schedule";
const workloadNode = (slug: string) => `workload:${slug}`;
const workerNode = (id: string) => `worker:${id}`;

type Unplaced = Omit<FlowNode, "position">;
const edge = (
  source: string,
  target: string,
  kind: FlowEdge["kind"],
  rate_per_min: number,
): FlowEdge => ({
  id: `${source}>${target}`,
  ...{ source, target, kind, rate_per_min: Math.round(rate_per_min * 100) / 100 },
});

/** What the graph is drawn from. */
interface Facts {
  workloads: WorkloadRow[];
  workers: PullWorkerRow[];
  /** Events per minute of a workload. */
  rate(workload_id: number, metric: string): number;
  rates: RatePoint[];
}

/** GET /flow/snapshot (pipeline spec §4.4): where tasks come from, what they pass and who runs them, as it is now. */
export async function getSnapshot(ctx: ControlContext): Promise<FlowSnapshot> {
  const { db, pipeline, clock } = ctx;
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
    workers: all.filter((w) => clock.now() - w.last_heartbeat_at <= PULL_OFFLINE_MS),
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
        ...{ id: workloadNode(w.slug), kind: "workload", label: w.name },
        stats: {
          ...{ pending, claimed: running, failed, state: w.enabled ? "enabled" : "disabled" },
          submitted_per_min: per_min("submitted"),
          succeeded_per_min: per_min("succeeded"),
          failed_per_min: per_min("failed"),
        },
      };
    }),
    ...pluginNodes(workloads),
    ...facts.workers.map(
      ({ worker_id, host, slots, in_flight, cpu_percent, draining }): Unplaced => {
        const state = draining ? "draining" : "active";
        return {
          ...{ id: workerNode(worker_id), kind: "worker", label: worker_id },
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

const isScheduled = ({ schedule }: WorkloadRow) => schedule !== null;

function sourceNodes({ workloads, rate }: Facts): Unplaced[] {
  const total = (metric: string) => workloads.reduce((n, w) => n + rate(w.workload_id, metric), 0);
  const scheduled = total(SCHEDULED);
  const source = (id: string, label: string, per_min: number): Unplaced => ({
    ...{ id, kind: "source", label },
    stats: { submitted_per_min: Math.round(per_min * 100) / 100 },
  });
  return [
    ...(workloads.length > 0 ? [source(API, "API", total("submitted") - scheduled)] : []),
    ...(workloads.some(isScheduled) ? [source(CRON, "Schedule", scheduled)] : []),
  ];
}

/** From the API to what got tasks through it, and to what has no other source. */
function submitEdges({ workloads, rate, rates }: Facts): FlowEdge[] {
  const emittedTo = new Set([
    ...workloads.flatMap(({ emits }) => emits),
    ...emissions(rates, workloads).map(({ to }) => to.slug),
  ]);
  return workloads.flatMap((w) => {
    const scheduled = rate(w.workload_id, SCHEDULED);
    const posted = rate(w.workload_id, "submitted") - scheduled;
    const id = workloadNode(w.slug);
    return [
      ...(posted > 0 || !(isScheduled(w) || emittedTo.has(w.slug))
        ? [edge(API, id, "submit", posted)]
        : []),
      ...(isScheduled(w) ? [edge(CRON, id, "submit", scheduled)] : []),
    ];
  });
}

/** Who gave tasks to whom in the window, with how many. */
function emissions(rates: readonly RatePoint[], workloads: readonly WorkloadRow[]) {
  const byId = new Map(workloads.map((w) => [w.workload_id, w]));
  return rates.flatMap(({ workload_id, metric, n }) => {
    const from = byId.get(workload_id);
    const to = byId.get(emitTarget(metric) ?? -1);
    return from && to ? [{ from, to, n }] : [];
  });
}

/** Of what a workload says it emits to, and of what its runs did emit to. */
function emitEdges({ workloads, rates, rate }: Facts): FlowEdge[] {
  const slugs = new Set(workloads.map(({ slug }) => slug));
  const pairs = new Map<string, FlowEdge>();
  const add = (from: string, to: string, per_min: number) => {
    const drawn = edge(workloadNode(from), workloadNode(to), "emit", per_min);
    pairs.set(drawn.id, drawn);
  };
  for (const { slug, emits } of workloads)
    for (const to of emits) if (slugs.has(to)) add(slug, to, 0);
  for (const { from, to } of emissions(rates, workloads))
    add(from.slug, to.slug, rate(from.workload_id, emitMetric(to.workload_id)));
  return [...pairs.values()];
}

const pluginsOf = (workloads: readonly WorkloadRow[]) =>
  workloads.flatMap(({ slug, executor_config: { plugin } }) => (plugin ? [{ slug, plugin }] : []));

function pluginNodes(workloads: readonly WorkloadRow[]): Unplaced[] {
  const used = new Map<string, number>();
  for (const { plugin } of pluginsOf(workloads)) used.set(plugin, (used.get(plugin) ?? 0) + 1);
  return [...used].map(([plugin, n]) => ({
    ...{ id: `plugin:${plugin}`, kind: "plugin", label: plugin },
    stats: { workloads: n },
  }));
}

const executorEdges = (workloads: readonly WorkloadRow[]): FlowEdge[] =>
  pluginsOf(workloads).map(({ slug, plugin }) =>
    edge(`plugin:${plugin}`, workloadNode(slug), "executor", 0),
  );

/** To workers that hold tasks of the workload now, or ran some within the window. */
function claimEdges(
  { workloads, workers }: Facts,
  claimed: { workload_id: number; worker_id: string | null }[],
  pairs: { workload_id: number; worker_id: string; n: number; oldest: number }[],
  now: number,
): FlowEdge[] {
  const slugs = new Map(workloads.map((w) => [w.workload_id, w.slug]));
  const shown = new Set(workers.map(({ worker_id }) => worker_id));
  const edges = new Map<string, FlowEdge>();
  const add = (workload_id: number, worker_id: string, per_min: number) => {
    const slug = slugs.get(workload_id);
    if (slug === undefined || !shown.has(worker_id)) return;
    const drawn = edge(workloadNode(slug), workerNode(worker_id), "claim", per_min);
    edges.set(drawn.id, drawn);
  };
  for (const { workload_id, worker_id } of claimed) if (worker_id) add(workload_id, worker_id, 0);
  // A sample that is full reaches less far back than the window; a second of it is the least to reckon with.
  const full = pairs.reduce((n, pair) => n + pair.n, 0) >= RECENT_RUNS;
  const sampled = now - Math.min(...pairs.map(({ oldest }) => oldest));
  const minutes = full ? Math.max(sampled / MINUTE_MS, 1 / 60) : WINDOW_MIN;
  for (const { workload_id, worker_id, n } of pairs) add(workload_id, worker_id, n / minutes);
  return [...edges.values()];
}

/** POST /flow/layout: keeps where nodes were put; those that are not named stay where they are. All that is kept. */
export async function saveLayout(
  { db, clock }: ControlContext,
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
