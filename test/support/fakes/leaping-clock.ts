import type { Clock } from "#shared/kit/clock.ts";

/** Time in leaps: who sleeps until a moment in between wakes once, at the end of the leap. */
export function createLeapingClock(): Clock & { leap(ms: number): void } {
  let now = Date.UTC(2026, 0, 1);
  const sleepers = new Set<{ at: number; wake(): void }>();
  return {
    now: () => now,
    monotonic: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const sleeper = {
          at: now + ms,
          wake: () => {
            sleepers.delete(sleeper);
            signal?.removeEventListener("abort", sleeper.wake);
            resolve();
          },
        };
        sleepers.add(sleeper);
        signal?.addEventListener("abort", sleeper.wake, { once: true });
      }),
    leap: (ms) => {
      now += ms;
      for (const sleeper of [...sleepers]) if (sleeper.at <= now) sleeper.wake();
    },
  };
}
