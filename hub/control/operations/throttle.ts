/** So many wrong answers are free; then each one doubles the wait, up to a minute. */
const FREE = 5;
const WAIT_MS = { first: 1_000, most: 60_000 };
/** Without a wrong answer for so long an address begins anew. */
const FORGET_MS = 15 * 60_000;
/** Beyond so many addresses the one that has been silent longest is forgotten. */
const MAX_ADDRESSES = 10_000;

interface Failures {
  count: number;
  last_at: number;
  until: number;
}

/** Slows down whoever guesses: counts wrong answers by address. Times epoch ms. */
export interface Throttle {
  /** Milliseconds this address has to wait before it may try again; 0 when it may. */
  wait(address: string, now: number): number;
  failed(address: string, now: number): void;
  passed(address: string): void;
}

export function createThrottle(): Throttle {
  const known = new Map<string, Failures>();
  const recall = (address: string, now: number): Failures | undefined => {
    const failures = known.get(address);
    return failures && now - failures.last_at < FORGET_MS ? failures : undefined;
  };
  return {
    wait: (address, now) => Math.max(0, (recall(address, now)?.until ?? 0) - now),
    failed: (address, now) => {
      const count = (recall(address, now)?.count ?? 0) + 1;
      const wait = Math.min(WAIT_MS.most, WAIT_MS.first * 2 ** Math.min(count - FREE, 20));
      // Written anew, it is the last one in the order of the map.
      known.delete(address);
      known.set(address, { count, last_at: now, until: count < FREE ? 0 : now + wait });
      const [oldest] = known.keys();
      if (known.size > MAX_ADDRESSES && oldest !== undefined) known.delete(oldest);
    },
    passed: (address) => void known.delete(address),
  };
}
