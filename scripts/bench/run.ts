import { parseArgs } from "node:util";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Bench, Figure } from "./harness.ts";
import { printTable } from "./harness.ts";
import { BENCH_NAMES, type BenchName } from "./names.ts";

/**
 * `bun run bench [name…] [--runs N] [--tiny]`: every benchmark but the long ones, or those named. JSON lines, then a table.
 * `--tiny` is one small iteration of each, for the suite; `soak` takes `--minutes N` and `--rate N`, jobs a minute.
 */
const BENCHES: Record<BenchName, () => Promise<Bench>> = {
  "fetch-job": async () => (await import("./fetch-job.ts")).fetchJob,
  capture: async () => (await import("./capture.ts")).capture,
  egress: async () => (await import("./egress.ts")).egress,
  assign: async () => (await import("./assign.ts")).assign,
  "lane-turnaround": async () => (await import("./lane-turnaround.ts")).laneTurnaround,
  "session-start": async () => (await import("./action.ts")).sessionStart,
  "one-shot": async () => (await import("./one-shot.ts")).oneShot,
  action: async () => (await import("./action.ts")).action,
  cdp: async () => (await import("./cdp.ts")).cdp,
  viewer: async () => (await import("./viewer.ts")).viewer,
  recording: async () => (await import("./recording.ts")).recording,
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
  soak: async () => (await import("./soak.ts")).soak,
};

/** Takes hours, so that it runs only when it is named. */
const LONG: readonly BenchName[] = ["soak"];

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}

function readArgs() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        tiny: { type: "boolean", default: false },
        runs: { type: "string" },
        minutes: { type: "string" },
        rate: { type: "string" },
      },
    });
  } catch (err) {
    return fail(errorMessage(err));
  }
}

const { values, positionals: names } = readArgs();
const { tiny } = values;
const above = (name: "minutes" | "rate"): number | undefined => {
  const value = values[name] === undefined ? undefined : Number(values[name]);
  return value === undefined || value > 0 ? value : fail(`--${name} needs a number above 0`);
};
const runs = values.runs === undefined ? (tiny ? 1 : 7) : Number(values.runs);
if (!Number.isInteger(runs) || runs < 1) fail("--runs needs a whole number, 1 or more");
const unknown = names.find((name) => !(name in BENCHES));
if (unknown) fail(`unknown benchmark ${unknown}: one of ${BENCH_NAMES.join(", ")}`);
const [minutes, rate] = [above("minutes"), above("rate")];
const wanted = (name: BenchName) =>
  names.length > 0 ? names.includes(name) : !LONG.includes(name);

const figures: Figure[] = [];
for (const name of BENCH_NAMES) {
  if (!wanted(name)) continue;
  const bench = await BENCHES[name]();
  for (const figure of await bench({ runs, tiny, minutes, rate })) {
    console.log(JSON.stringify(figure));
    figures.push(figure);
  }
}
printTable(figures);
