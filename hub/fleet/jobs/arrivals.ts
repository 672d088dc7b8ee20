import type { Clock } from "#shared/kit/clock.ts";

/** Further ahead than this the clock was put back, and is followed. */
const MOST_AHEAD_MS = 1_000;

/** When jobs come in, for `created_at`. */
export interface Arrivals {
  /** Epoch ms, later than every one before. */
  next(): number;
}

/**
 * The queue is ordered by `created_at`, and jobs of one millisecond would stand in it by their random ids: so no two of one
 * hub have the same, and a client that waits for each answer is served in its order.
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
