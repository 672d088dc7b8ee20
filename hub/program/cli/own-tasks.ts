import type { QueueCounts } from "#shared/client/index.ts";
import type { WatchDeps } from "./watch-queue.ts";

/** Keys per call, so that the control plane can answer other calls in between. */
const CHUNK = 2_000;
const CALL_MS = 10_000;

/**
 * Counts only these tasks of the workload. A task that has left the queue is done and is not checked again; a
 * failed one is, because somebody may retry it meanwhile.
 */
export function ownTasks(
  { workloads, signal }: Pick<WatchDeps, "workloads" | "signal">,
  slug: string,
  pks: Iterable<string>,
): () => Promise<QueueCounts> {
  let left = [...pks];
  return async () => {
    const counts = { pending: 0, claimed: 0, failed: 0 };
    const still: string[] = [];
    for (let from = 0; from < left.length; from += CHUNK) {
      const chunk = left.slice(from, from + CHUNK);
      const { items } = await workloads.status(slug, chunk, { timeout_ms: CALL_MS, signal });
      for (const { pk, state } of items) {
        counts[state] += 1;
        still.push(pk);
      }
    }
    left = still;
    return { ...counts, total: still.length };
  };
}
