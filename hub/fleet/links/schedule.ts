import { MAX_DISK_PCT, WORKER_LIVENESS_MS } from "#shared/protocol/limits.ts";
import type { WorkerStatus } from "#shared/protocol/schema/worker.ts";

/** What the scheduler reads about a worker (rules/scheduling#candidates). */
export interface Candidate {
  readonly status: WorkerStatus;
  /** When it was last heard from, by the monotonic clock. */
  readonly heard_at: number;
  /** Leases held, counted at once when one is taken (rules/scheduling#counted-at-once). */
  readonly in_flight: number;
  readonly max_concurrent: number;
  readonly lane_novnc_urls: readonly string[];
  readonly novnc_url: string | null;
  readonly disk_pct: number;
}

/** Whether it may be given work (rules/scheduling#candidates). */
export function isCandidate(worker: Candidate, now: number): boolean {
  return (
    now - worker.heard_at <= WORKER_LIVENESS_MS &&
    worker.status === "active" &&
    worker.in_flight < worker.max_concurrent &&
    (worker.lane_novnc_urls.length > 0 || worker.novnc_url !== null) &&
    worker.disk_pct < MAX_DISK_PCT
  );
}

/** Negative when `a` comes before `b` (rules/scheduling#order-of-candidates). */
const order = (a: Candidate, b: Candidate): number =>
  a.in_flight - b.in_flight || b.max_concurrent - a.max_concurrent;

/**
 * The worker that gets the next job (rules/scheduling#candidates, rules/scheduling#order-of-candidates): fewest in flight,
 * then the larger max_concurrent; every worker of a tie is equally likely. One pass, because a fleet may have a thousand
 * workers and this runs per job.
 * @param can any further requirement of a worker.
 */
export function chooseWorker<W extends Candidate>(
  workers: readonly W[],
  now: number,
  random: () => number,
  can: (worker: W) => boolean = () => true,
): W | null {
  const drawn = workers.length < DRAW_FROM ? null : drawIdle(workers, now, random, can);
  if (drawn) return drawn;
  let best: W | null = null;
  let ties = 0;
  for (const worker of workers) {
    const before = best === null ? -1 : order(worker, best);
    if (before > 0 || !isCandidate(worker, now) || !can(worker)) continue;
    ties = before < 0 ? 1 : ties + 1;
    if (before < 0 || random() * ties < 1) best = worker;
  }
  return best;
}

/** In fleets this large most workers are idle or most are busy, and looking at each takes longer than a few draws. */
const DRAW_FROM = 64;
const DRAWS = 8;

/**
 * A worker that no other can precede (idle, with the largest max_concurrent), found by drawing at random: each such
 * worker is equally likely. Null when the draws found none.
 */
function drawIdle<W extends Candidate>(
  workers: readonly W[],
  now: number,
  random: () => number,
  can: (worker: W) => boolean,
): W | null {
  let largest = 0;
  for (const { max_concurrent } of workers) if (max_concurrent > largest) largest = max_concurrent;
  for (let i = 0; i < DRAWS; i += 1) {
    const worker = workers[Math.floor(random() * workers.length)];
    if (!worker || worker.in_flight > 0 || worker.max_concurrent < largest) continue;
    if (isCandidate(worker, now) && can(worker)) return worker;
  }
  return null;
}
