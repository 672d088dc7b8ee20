/** Every benchmark, in the order in which they run. */
export const BENCH_NAMES = [
  "fetch-job",
  "capture",
  "assign",
  "lane-turnaround",
  "session-start",
  "action",
  "cdp",
  "viewer",
  "fleet",
  "boot",
  "runner",
  "ui",
  "submit",
  "drain",
  "claim",
  "pickup",
  "limits",
  "python",
  "backlog",
  "idle-workers",
] as const;
export type BenchName = (typeof BENCH_NAMES)[number];
