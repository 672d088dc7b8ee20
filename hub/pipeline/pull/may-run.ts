import type { PullWorkerRow } from "#hub/platform/db/rows.ts";

/** Whether the worker may run tasks of the workload, by its filter and the workload's hosts. */
export const mayRun = (
  worker: Pick<PullWorkerRow, "filter" | "host">,
  workload: { slug: string; host_affinity: readonly string[] },
): boolean =>
  (worker.filter === null || worker.filter.includes(workload.slug)) &&
  (workload.host_affinity.length === 0 || workload.host_affinity.includes(worker.host));
