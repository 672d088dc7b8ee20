import { type Clock, systemClock } from "#shared/kit/clock.ts";

const NOW = systemClock.monotonic();
/** Longer sleeps are deadlines, loops and waits for others. */
const SHORT_MS = 100;

/**
 * For several hubs that tell each other something in real time: short pauses are as long as they say, no deadline ever
 * comes and no loop goes round. What a test sees is what was told, however slow the machine is.
 */
export const stillClock: Clock = {
  now: systemClock.now,
  monotonic: () => NOW,
  sleep: (ms, signal) =>
    ms <= SHORT_MS
      ? systemClock.sleep(ms, signal)
      : new Promise((resolve) => {
          if (signal?.aborted) resolve();
          else signal?.addEventListener("abort", () => resolve(), { once: true });
        }),
};
