import type { Clock } from "#shared/kit/clock.ts";

/** When the last time is further ahead than this, somebody set the clock back, and it is followed. */
const MOST_AHEAD_MS = 1_000;

/** Gives each new job its `created_at`. */
export interface Arrivals {
  /** Epoch ms, later than all earlier ones. */
  next(): number;
}

/**
 * The queue is ordered by `created_at`, and jobs of the same millisecond would be ordered by their random ids. So no
 * two jobs of one hub share a time, and a client that waits for each answer is served in order.
 */
export function createArrivals(clock: Clock): Arrivals {
  let last = Number.NEGATIVE_INFINITY;
  return {
    next: () => {
      const now = clock.now();
      last = last - now > MOST_AHEAD_MS ? now : Math.max(now, last + 1);
      return last;
    },
  };
}
