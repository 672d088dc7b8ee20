import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Clock, systemClock } from "#shared/kit/clock.ts";

/** The time that tests give tasks on a {@link taskClock}: no other sleep is as long. */
export const DEADLINE_MS = 234;
const LOOK_MS = 5;
/** From the shortest to the longest that a task is given to stop by itself. */
const STOPS_MS = { least: 1_000, cancel: 2_000, most: 5_000 };
const HURRIED_MS = 100;
const PATIENT_MS = 60_000;

/** How a task that has begun takes its deadline: it stops when it is asked, when it is interrupted, or never. */
type Mark = "polite" | "deaf" | "lost";

/**
 * A clock by which the deadline of a task comes once the task has written its mark, however slowly it starts. It is given
 * all the time that it needs for the way of stopping that the mark names, and hardly any for those that come before.
 */
export function taskClock(dir: string): Clock & {
  /** The file that a task is to make. */
  mark(name: Mark): string;
} {
  mkdirSync(dir, { recursive: true });
  const mark = (name: Mark) => join(dir, `begun-${name}`);
  let begun: Mark = "polite";
  const untilBegun = async (signal?: AbortSignal): Promise<void> => {
    for (;;) {
      if (signal?.aborted) return;
      for (const name of ["polite", "deaf", "lost"] as const)
        if (existsSync(mark(name))) {
          rmSync(mark(name));
          begun = name;
          return;
        }
      await systemClock.sleep(LOOK_MS, signal);
    }
  };
  const stopMs = (ms: number) => {
    const waits = begun === "polite" || (begun === "deaf" && ms > STOPS_MS.cancel);
    return waits ? PATIENT_MS : HURRIED_MS;
  };
  return {
    ...systemClock,
    mark,
    sleep: (ms, signal) => {
      if (ms === DEADLINE_MS) return untilBegun(signal);
      const stops = ms >= STOPS_MS.least && ms <= STOPS_MS.most;
      return systemClock.sleep(stops ? stopMs(ms) : ms, signal);
    },
  };
}
