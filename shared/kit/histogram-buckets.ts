/** Bounds of histograms in seconds: what people wait for, and what a database or a lane takes. */
export const QUICK_S = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
] as const;
export const ACTION_S = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const;
export const WAIT_S = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3_600] as const;
export const RUN_S = [0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3_600] as const;
