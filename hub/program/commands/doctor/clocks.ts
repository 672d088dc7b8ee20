/** Leases and deadlines are reckoned in seconds. */
export const MAX_SKEW_MS = 2_000;

/** How far `theirs` is off, whatever the way there took: 0 while it lies between asking and answer. Milliseconds. */
export const skewOf = (theirs: number, asked: number, answered: number): number => {
  if (theirs < asked) return theirs - asked;
  return theirs > answered ? theirs - answered : 0;
};

export const clockText = (ms: number): string =>
  ms === 0
    ? "clocks agree"
    : `its clock is ${(Math.abs(ms) / 1_000).toFixed(1)} s ${ms < 0 ? "behind" : "ahead"}`;
export const SET_CLOCK = "timedatectl set-ntp true, on both machines";
