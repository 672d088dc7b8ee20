import type { Bench, Figure } from "./harness.ts";
import { printTable } from "./harness.ts";
import { BENCH_NAMES, type BenchName } from "./names.ts";

/**
 * `bun run bench [name…] [--runs N] [--tiny]`: every benchmark, or those named. JSON lines, then a table.
 * `--tiny` is one small iteration of each, for the suite.
 */
const BENCHES: Record<BenchName, () => Promise<Bench>> = {
  "fetch-job": async () => (await import("./fetch-job.ts")).fetchJob,
  capture: async () => (await import("./capture.ts")).capture,
  assign: async () => (await import("./assign.ts")).assign,
  "lane-turnaround": async () => (await import("./lane-turnaround.ts")).laneTurnaround,
  "session-start": async () => (await import("./action.ts")).sessionStart,
  action: async () => (await import("./action.ts")).action,
  cdp: async () => (await import("./cdp.ts")).cdp,
  viewer: async () => (await import("./viewer.ts")).viewer,
  fleet: async () => (await import("./fleet.ts")).fleet,
  boot: async () => (await import("./boot.ts")).boot,
  runner: async () => (await import("./runner.ts")).runner,
  ui: async () => (await import("./ui.ts")).ui,
  submit: async () => (await import("./pipeline/submit.ts")).submit,
  drain: async () => (await import("./pipeline/drain.ts")).drain,
  claim: async () => (await import("./pipeline/drain.ts")).claim,
  pickup: async () => (await import("./pipeline/pickup.ts")).pickup,
  limits: async () => (await import("./pipeline/limits.ts")).limits,
  python: async () => (await import("./pipeline/python.ts")).python,
  backlog: async () => (await import("./pipeline/backlog.ts")).backlog,
  "idle-workers": async () => (await import("./pipeline/idle-workers.ts")).idleWorkers,
};

const args = process.argv.slice(2);
const tiny = args.includes("--tiny");
const runsAt = args.indexOf("--runs");
const runs = runsAt >= 0 ? Number(args[runsAt + 1]) : tiny ? 1 : 7;
const names = args.filter((a, i) => !a.startsWith("--") && (runsAt < 0 || i !== runsAt + 1));
const unknown = names.find((n) => !(n in BENCHES));
if (unknown || !Number.isInteger(runs) || runs < 1) {
  console.error(
    unknown
      ? `unknown benchmark ${unknown}: one of ${Object.keys(BENCHES).join(", ")}`
      : "--runs needs a whole number, 1 or more",
  );
  process.exit(2);
}

const figures: Figure[] = [];
for (const name of BENCH_NAMES) {
  if (names.length > 0 && !names.includes(name)) continue;
  const bench = await BENCHES[name]();
  for (const figure of await bench({ runs, tiny })) {
    console.log(JSON.stringify(figure));
    figures.push(figure);
  }
}
printTable(figures);
