import { MAX_DISK_PCT, WORKER_LIVENESS_MS } from "#shared/limits.ts";
import type { WorkerStatus } from "#shared/schema/worker.ts";

/** What the scheduler reads of a worker (fleet spec §2.5). */
export interface Candidate {
  readonly status: WorkerStatus;
  readonly last_heartbeat_at: number;
  /** Leases held, counted at once when one is taken (§8 rule 3). */
  readonly in_flight: number;
  readonly max_concurrent: number;
  readonly lane_novnc_urls: readonly string[];
  readonly novnc_url: string | null;
  readonly disk_pct: number;
}

/** Fleet spec §8 rule 1. */
export function isCandidate(worker: Candidate, now: number): boolean {
  return (
    now - worker.last_heartbeat_at <= WORKER_LIVENESS_MS &&
    worker.status === "active" &&
    worker.in_flight < worker.max_concurrent &&
    (worker.lane_novnc_urls.length > 0 || worker.novnc_url !== null) &&
    worker.disk_pct < MAX_DISK_PCT
  );
}

/**
 * The worker that gets the next job (fleet spec §8 rules 1 and 2): fewest in flight, then the larger max_concurrent;
 * every worker of a tie is equally likely. One pass, because a fleet may have a thousand workers and this runs per job.
 */
export function chooseWorker<W extends Candidate>(
  workers: Iterable<W>,
  now: number,
  random: () => number,
): W | null {
  let best: W | null = null;
  let ties = 0;
  for (const worker of workers) {
    if (!isCandidate(worker, now)) continue;
    const order =
      best === null
        ? -1
        : worker.in_flight - best.in_flight || best.max_concurrent - worker.max_concurrent;
    if (order > 0) continue;
    ties = order < 0 ? 1 : ties + 1;
    if (order < 0 || random() * ties < 1) best = worker;
  }
  return best;
}
