import type { OpResults, QueueOp, Report } from "#hub/platform/db/queue/queue-store.ts";

/** What the queue does, as plain numbers: thousands of tasks pass in a second (rules/metrics#of-the-pipeline). */
export interface QueueTallies {
  submitted: number;
  duplicates: number;
  claimed: number;
  /** Claims that found tasks, and those that found none. */
  claims: { found: number; empty: number };
  /** Reports of attempts that were still their worker's. */
  ended: { complete: number; fail: number; release: number };
  /** Reports that came too late, or again. */
  stale: number;
  leases_lost: number;
  leases_expired: number;
}

export const newTallies = (): QueueTallies => ({
  submitted: 0,
  duplicates: 0,
  claimed: 0,
  claims: { found: 0, empty: 0 },
  ended: { complete: 0, fail: 0, release: 0 },
  stale: 0,
  leases_lost: 0,
  leases_expired: 0,
});

/** Adds what one call of a committed transaction did. */
export function tallyOp(
  tallies: QueueTallies,
  { op }: QueueOp,
  result: OpResults[QueueOp["op"]],
): void {
  switch (op) {
    case "submit": {
      const { submitted, duplicates } = result as OpResults["submit"];
      tallies.submitted += submitted;
      tallies.duplicates += duplicates;
      return;
    }
    case "claim": {
      const { length } = (result as OpResults["claim"]).tasks;
      tallies.claimed += length;
      tallies.claims[length > 0 ? "found" : "empty"] += 1;
      return;
    }
    case "renew":
      tallies.leases_lost += (result as OpResults["renew"]).length;
      return;
    default:
      for (const { status } of result as Report[]) {
        if (status === "ok") tallies.ended[op] += 1;
        else tallies.stale += 1;
      }
  }
}
