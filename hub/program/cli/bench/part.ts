import type { Http } from "#shared/client/http.ts";
import type { Clock } from "#shared/kit/clock.ts";
import type { Progress } from "../progress.ts";

/** What each part of a benchmark works with. */
export interface Part {
  client: Http;
  clock: Clock;
  /** Aborts at Ctrl-C and when the time is over: what was made so far is removed. */
  signal: AbortSignal;
  progress: Progress;
}

/** Removing what was made must not wait for long, nor end with the benchmark. */
export const CLEAN_MS = 15_000;

/** The time that `work` took, in milliseconds, beside what it brought. */
export async function timed<T>(clock: Clock, work: () => Promise<T>): Promise<[T, number]> {
  const began = clock.monotonic();
  const brought = await work();
  return [brought, clock.monotonic() - began];
}

/** Does `work` for every number below `count`, `at_once` of them at a time, until `signal` aborts. */
export async function sideBySide(
  count: number,
  at_once: number,
  signal: AbortSignal,
  work: (n: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const one = async (): Promise<void> => {
    while (next < count && !signal.aborted) {
      next += 1;
      await work(next);
    }
  };
  await Promise.all(Array.from({ length: Math.min(at_once, count) }, one));
}
