import type { Clock } from "#shared/kit/clock.ts";

export interface FakeClock extends Clock {
  /** Puts the wall clock forward, or back; no sleeper wakes by it. */
  jump(ms: number): void;
  /** Moves time on, waking sleepers in the order of their time; promises settle in between. */
  advance(ms: number): Promise<void>;
  /** Resolves when somebody sleeps until exactly `ms` from now. */
  sleeperIn(ms: number): Promise<void>;
  /** Milliseconds from now at which each sleeper wakes, in order. */
  sleepers(): number[];
}

interface Sleeper {
  at: number;
  wake(): void;
}

/** Lets every promise and socket callback that is due run. */
const settle = async () => {
  for (let i = 0; i < 3; i += 1) await new Promise<void>((resolve) => setImmediate(resolve));
};

export function createFakeClock(start = Date.UTC(2026, 0, 1)): FakeClock {
  let now = start;
  let jumped = 0;
  let sleepers: Sleeper[] = [];
  let watchers: { ms: number; found(): void }[] = [];

  const notice = () => {
    watchers = watchers.filter((w) => {
      const found = sleepers.some((s) => s.at - now === w.ms);
      if (found) w.found();
      return !found;
    });
  };
  return {
    now: () => now + jumped,
    monotonic: () => now,
    jump: (ms) => {
      jumped += ms;
    },
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const wake = () => {
          sleepers = sleepers.filter((s) => s !== sleeper);
          signal?.removeEventListener("abort", wake);
          resolve();
        };
        const sleeper = { at: now + ms, wake };
        sleepers.push(sleeper);
        signal?.addEventListener("abort", wake, { once: true });
        notice();
      }),
    advance: async (ms) => {
      const end = now + ms;
      await settle();
      for (;;) {
        const next = sleepers.filter((s) => s.at <= end).sort((a, b) => a.at - b.at)[0];
        if (!next) break;
        now = Math.max(now, next.at);
        next.wake();
        await settle();
      }
      now = end;
      await settle();
    },
    sleeperIn: (ms) =>
      new Promise((found) => {
        watchers.push({ ms, found });
        notice();
      }),
    sleepers: () => sleepers.map((s) => s.at - now).sort((a, b) => a - b),
  };
}
