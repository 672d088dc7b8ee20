import type { DashboardOverview, FlowRates, RunsSummary } from "#shared/protocol/schema/flow.ts";
import type { Supervision } from "#shared/protocol/schema/supervisor.ts";

/** Minutes that the rates of the overview are summed over. */
export const MINUTES = 60;
/** A ready task that waits longer is a problem. */
const WAIT_S = 300;
/** A share of failures among the last 20 runs above this is one too. */
const FAILING = 0.2;

export interface WorkloadState {
  slug: string;
  pending: number;
  claimed: number;
  failed: number;
  oldest_s: number | null;
  runs: readonly boolean[];
  success_rate: number | null;
  /** Events of the last hour. */
  hour: Record<string, number>;
  /** Events of the last whole minute. */
  minute: Record<string, number>;
  supervision: Supervision | null;
  /** Tasks wait, and no worker that is on may run them. */
  unserved: boolean;
  /** Where its code does not load, and why. */
  broken: string | null;
  /** What is wrong, the worst first. */
  problems: string[];
  /** The higher the worse; 0 is well. */
  weight: number;
}

const NO_WORKER = "no live worker may run it";
const SEEN: Record<string, string> = {
  no_worker: NO_WORKER,
  dead_instances: "its instances are dead",
  broken_executor: "its code does not load",
  stuck: "workers are idle and run nothing",
};

/** What is wrong with a workload, and how bad it is. */
function judge(one: Omit<WorkloadState, "problems" | "weight">): [string, number][] {
  const { supervision, broken, success_rate, oldest_s, hour, runs } = one;
  const expired = hour.expired ?? 0;
  const failing = success_rate !== null && 1 - success_rate > FAILING;
  return [
    supervision?.paused_at ? ["paused by the supervisor", 1_000] : null,
    broken === null ? null : [broken, 700],
    // Reported already, with where and why.
    supervision?.problem && !(broken !== null && supervision.problem === "broken_executor")
      ? [SEEN[supervision.problem] ?? supervision.problem, 500]
      : null,
    one.unserved && supervision?.problem !== "no_worker" ? [NO_WORKER, 500] : null,
    failing
      ? [
          `${Math.round((1 - success_rate) * 100)} % of the last ${runs.length} runs failed`,
          300 * (1 - success_rate),
        ]
      : null,
    expired > 0
      ? [`${expired} leases expired in the last hour`, 100 + Math.min(100, expired)]
      : null,
    oldest_s !== null && oldest_s > WAIT_S
      ? [
          `a ready task has waited for ${Math.round(oldest_s / 60)} min`,
          50 + Math.min(100, oldest_s / 60),
        ]
      : null,
  ].filter((problem) => problem !== null) as [string, number][];
}

/** Every workload as the overview shows it, the worst first, then by how much waits. */
export function statesOf(
  overview: DashboardOverview,
  summary: RunsSummary | undefined,
  rates: FlowRates | undefined,
  unserved: ReadonlySet<string> = new Set(),
): WorkloadState[] {
  const summaries = new Map((summary?.workloads ?? []).map((one) => [one.slug, one]));
  const states = overview.queue_depths.map((depth) => {
    const { workload: slug, pending, claimed, failed, oldest_pending_s } = depth;
    const series = (rates?.series ?? []).filter((one) => one.slug === slug);
    const of = (pick: (n: number[]) => number) =>
      Object.fromEntries(
        series.map(({ metric, points }) => [metric, pick(points.map(([, n]) => n))]),
      );
    const state = {
      slug,
      pending,
      claimed,
      failed,
      oldest_s: oldest_pending_s,
      runs: summaries.get(slug)?.runs ?? [],
      success_rate: summaries.get(slug)?.success_rate ?? null,
      hour: of((n) => n.reduce((sum, one) => sum + one, 0)),
      // The running minute is not whole.
      minute: of((n) => n.at(-2) ?? 0),
      broken: overview.problems.find((one) => one.workload === slug)?.message ?? null,
      unserved: pending > 0 && unserved.has(slug),
      supervision: overview.supervised.find((one) => one.workload === slug) ?? null,
    };
    const judged = judge(state);
    const weight = judged.reduce((sum, [, points]) => sum + points, 0);
    return { ...state, weight, problems: judged.map(([text]) => text) };
  });
  return states.sort(
    (a, b) => b.weight - a.weight || b.pending - a.pending || a.slug.localeCompare(b.slug),
  );
}
