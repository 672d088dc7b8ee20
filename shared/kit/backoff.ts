/**
 * Milliseconds before the next try after `failures` failures in a row: `first` doubling up to `most`, half of it jitter,
 * so that many callers do not come back at the same time. `random` is in [0, 1).
 */
export const retryWait = (
  failures: number,
  { first, most }: { first: number; most: number },
  random: number,
): number => jittered(Math.min(most, first * 2 ** Math.min(failures, 30)), random);

/** Between half of `ms` and all of it. */
export const jittered = (ms: number, random: number): number => Math.round(ms * (0.5 + random / 2));
