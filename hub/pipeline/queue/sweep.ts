import type { WorkloadRow } from "#hub/platform/db/rows.ts";
import type { Log } from "#shared/kit/log.ts";
import type { Pipeline } from "../context.ts";
import type { HeldBy } from "./ready-hints.ts";

/** Rows of one transaction: small enough that claims do not wait for it. */
const BATCH = 1_000;

/** Ends leases that ran out, starts tasks that are due, and looks for work that was not announced. */
export async function sweepOnce(
  { store, workloads, ready: hints, wake, tallies }: Omit<Pipeline, "turns">,
  log: Log,
): Promise<void> {
  for (let n = BATCH; n === BATCH; ) {
    const expired = await store.expire(BATCH);
    n = expired.length;
    tallies.leases_expired += n;
    if (n > 0) log.warn({ n }, "leases expired");
  }
  for (let n = BATCH; n === BATCH; ) {
    const promoted = await store.promote(BATCH);
    n = 0;
    for (const [workload_id, count] of promoted) {
      n += count;
      wake(workload_id, count);
    }
  }
  await workloads.refresh();
  // Tasks were submitted, or ended, through another control process whose message was lost.
  for (const { workload_id, ready, claimed } of await store.counts()) {
    if (ready <= 0) continue;
    hints.add(workload_id, ready);
    const places = freeOf(workloads.byId(workload_id), hints.heldBy(workload_id), claimed);
    if (places > 0) hints.open(workload_id, Math.min(places, ready));
  }
}

/** Free places of a workload whose limits held tasks back at the last claim. */
function freeOf(workload: WorkloadRow | undefined, held: HeldBy | null, claimed: number): number {
  if (!workload || held === null) return 0;
  // Its own timer opens it.
  if (held === "rate") return workload.rate_limit === null ? Number.POSITIVE_INFINITY : 0;
  return (workload.max_in_flight ?? Number.POSITIVE_INFINITY) - claimed;
}
