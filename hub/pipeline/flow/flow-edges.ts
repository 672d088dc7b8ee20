import { emitMetric, emitTarget } from "#drizzle/tables/counters.ts";
import type { PullWorkerRow, WorkloadRow } from "#hub/platform/db/rows.ts";
import type { RatePoint } from "#hub/platform/db/view-types.ts";
import type { FlowEdge } from "#shared/protocol/schema/flow.ts";
import { SCHEDULED } from "../schedules/schedules.ts";
import { MINUTE_MS } from "./flow-rates.ts";

/** Rates of edges are means over this many minutes, the running one included. */
export const WINDOW_MIN = 5;
/** How many runs are read to see who recently ran what. */
export const RECENT_RUNS = 1_000;

export const API = "source:api";
export const CRON = "source:schedule";
export const workloadNode = (slug: string) => `workload:${slug}`;
export const workerNode = (id: string) => `worker:${id}`;

/** What the graph is drawn from. */
export interface Facts {
  workloads: WorkloadRow[];
  workers: PullWorkerRow[];
  /** Events per minute of a workload. */
  rate(workload_id: number, metric: string): number;
  rates: RatePoint[];
}

const edge = (
  source: string,
  target: string,
  kind: FlowEdge["kind"],
  rate_per_min: number,
): FlowEdge => ({
  id: `${source}>${target}`,
  source,
  target,
  kind,
  rate_per_min: Math.round(rate_per_min * 100) / 100,
});

export const isScheduled = ({ schedule }: WorkloadRow) => schedule !== null;

/** From the API to workloads that got tasks through it, and to those without any other source. */
export function submitEdges({ workloads, rate, rates }: Facts): FlowEdge[] {
  const emittedTo = new Set([
    ...workloads.flatMap(({ emits }) => emits),
    ...emissions(rates, workloads).map(({ to }) => to.slug),
  ]);
  return workloads.flatMap((w) => {
    const scheduled = rate(w.workload_id, SCHEDULED);
    // A tick at the end of a minute may be counted as submitted in it and as scheduled in the next.
    const posted = Math.max(0, rate(w.workload_id, "submitted") - scheduled);
    const id = workloadNode(w.slug);
    return [
      ...(posted > 0 || !(isScheduled(w) || emittedTo.has(w.slug))
        ? [edge(API, id, "submit", posted)]
        : []),
      ...(isScheduled(w) ? [edge(CRON, id, "submit", scheduled)] : []),
    ];
  });
}

/** Which workloads gave tasks to which others in the window, and how many. */
function emissions(rates: readonly RatePoint[], workloads: readonly WorkloadRow[]) {
  const byId = new Map(workloads.map((w) => [w.workload_id, w]));
  return rates.flatMap(({ workload_id, metric, n }) => {
    const from = byId.get(workload_id);
    const to = byId.get(emitTarget(metric) ?? -1);
    return from && to ? [{ from, to, n }] : [];
  });
}

/** Edges to the workloads that a workload declares in `emits`, and to those its runs actually emitted to. */
export function emitEdges({ workloads, rates, rate }: Facts): FlowEdge[] {
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

export const pluginsOf = (workloads: readonly WorkloadRow[]) =>
  workloads.flatMap(({ slug, executor_config: { plugin } }) => (plugin ? [{ slug, plugin }] : []));

export const executorEdges = (workloads: readonly WorkloadRow[]): FlowEdge[] =>
  pluginsOf(workloads).map(({ slug, plugin }) =>
    edge(`plugin:${plugin}`, workloadNode(slug), "executor", 0),
  );

/** Edges to workers that hold tasks of the workload now or ran some within the window. */
export function claimEdges(
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
  // A full sample reaches back less far than the window; count at least one second of it.
  const full = pairs.reduce((n, pair) => n + pair.n, 0) >= RECENT_RUNS;
  const sampled = now - Math.min(...pairs.map(({ oldest }) => oldest));
  const minutes = full ? Math.max(sampled / MINUTE_MS, 1 / 60) : WINDOW_MIN;
  for (const { workload_id, worker_id, n } of pairs) add(workload_id, worker_id, n / minutes);
  return [...edges.values()];
}
