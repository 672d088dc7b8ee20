import type { Log } from "#shared/log.ts";
import type { Pipeline } from "./context.ts";

/** Rows of one transaction: small enough that claims do not wait for it. */
const BATCH = 1_000;

/** Ends leases that ran out, starts tasks that are due, and looks for work that nobody was told of. */
export async function sweepOnce(
  { store, workloads, ready: hints, wake }: Omit<Pipeline, "turns">,
  log: Log,
): Promise<void> {
  for (let n = BATCH; n === BATCH; ) {
    const expired = await store.expire(BATCH);
    n = expired.length;
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
  // Submitted through another control process whose message was lost, or held back by a limit that is open again.
  for (const { workload_id, ready } of await store.counts())
    if (ready > 0) hints.add(workload_id, ready);
}
