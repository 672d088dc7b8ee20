import type { DashboardOverview, RunsSummary } from "#shared/protocol/schema/flow.ts";
import type { PullWorker } from "#shared/protocol/schema/pull.ts";
import type { Workload } from "#shared/protocol/schema/workload.ts";
import type { Look } from "../../parts/status/look.ts";
import { workloadLook } from "../../parts/status/workload.ts";

/** What the state of every workload is told by; what has not been read yet is taken to be well. */
export interface Seen {
  overview: Pick<DashboardOverview, "supervised"> | undefined;
  summary: RunsSummary | undefined;
  workers: Workers | undefined;
}

interface Workers {
  workers: readonly Pick<PullWorker, "state" | "workloads">[];
  next_cursor: string | null;
}

interface Known {
  slug: string;
  enabled: boolean;
  /** Its code does not load. */
  broken: boolean;
  /** Tasks that run now. */
  running: number;
}

/** Whether no worker that is on takes its tasks. A list that goes on may hide one that does. */
const hasNoWorker = (slug: string, list: Workers | undefined): boolean =>
  list !== undefined &&
  list.next_cursor === null &&
  !list.workers.some(({ state, workloads }) => state === "active" && workloads.includes(slug));

/** The state of a workload, the same in the list, on its page and in the flow. */
export function stateOf(known: Known, { overview, summary, workers }: Seen): Look {
  const { slug, enabled, broken, running } = known;
  const supervised = overview?.supervised.find(({ workload }) => workload === slug);
  return workloadLook({
    enabled,
    broken,
    running,
    paused: Boolean(supervised?.paused_at),
    no_worker: hasNoWorker(slug, workers),
    success_rate: summary?.workloads.find((one) => one.slug === slug)?.success_rate ?? null,
  });
}

/** Workloads that are on and that no worker takes the tasks of. */
export const unservedOf = (
  workloads: readonly Pick<Workload, "slug" | "enabled">[],
  workers: Workers | undefined,
): ReadonlySet<string> =>
  new Set(
    workloads
      .filter(({ slug, enabled }) => enabled && hasNoWorker(slug, workers))
      .map(({ slug }) => slug),
  );
