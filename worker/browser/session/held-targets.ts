import type { Clock } from "#shared/kit/clock.ts";

/** A client whose auto-attach covers a target learns of it at once; Puppeteer asks once more, through the tab. */
const CLAIM_MS = 5_000;
/** Limit for a client that holds a target and never releases it. */
const HELD_MS = 15_000;

/** Those who wait until a target may run. */
export interface HeldTargets {
  /**
   * Resolves once `ready`, or after 15 s; null when it is so already. `unclaimed`: all who should be attached to the target
   * have had time for it.
   */
  until(ready: (unclaimed: boolean) => boolean): Promise<void> | null;
  /** Something has changed: whoever waits looks again. */
  wake(): void;
}

export function createHeldTargets(clock: Clock): HeldTargets {
  const waiters = new Set<() => void>();
  return {
    wake: () => {
      for (const waiter of [...waiters]) waiter();
    },
    until: (ready) => {
      if (ready(false)) return null;
      const over = new AbortController();
      return new Promise((resolve) => {
        let unclaimed = false;
        const done = () => {
          waiters.delete(check);
          over.abort();
          resolve();
        };
        const check = () => {
          if (ready(unclaimed)) done();
        };
        waiters.add(check);
        void clock.sleep(CLAIM_MS, over.signal).then(() => {
          unclaimed = true;
          check();
        });
        void clock.sleep(HELD_MS, over.signal).then(done);
      });
    },
  };
}
