import { useGet } from "../../lib/query.ts";
import { type Seen, unservedOf } from "./state.ts";

/** Reads what the state of every workload is told by. */
export function useSeen(): Seen {
  const overview = useGet("/api/v1/dashboard/overview");
  const summary = useGet("/api/v1/dashboard/workloads-runs-summary");
  const workers = useGet("/api/v1/workers");
  return { overview: overview.data, summary: summary.data, workers: workers.data };
}

/** Reads which workloads are on and have no worker that takes their tasks. */
export function useUnserved(): ReadonlySet<string> {
  const workloads = useGet("/api/v1/workloads");
  const workers = useGet("/api/v1/workers");
  return unservedOf(workloads.data?.workloads ?? [], workers.data);
}
