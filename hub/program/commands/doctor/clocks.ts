/** Leases and deadlines are counted in seconds. */
export const MAX_SKEW_MS = 2_000;

/** How far `theirs` is off, in milliseconds, whatever the call took: 0 if it lies between question and answer. */
export const skewOf = (theirs: number, asked: number, answered: number): number => {
  if (theirs < asked) return theirs - asked;
  return theirs > answered ? theirs - answered : 0;
};

export const clockText = (ms: number): string =>
  ms === 0
    ? "clocks agree"
    : `its clock is ${(Math.abs(ms) / 1_000).toFixed(1)} s ${ms < 0 ? "behind" : "ahead"}`;
export const SET_CLOCK = "run timedatectl set-ntp true on both machines";
