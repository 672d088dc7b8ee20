import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BENCH_NAMES } from "./bench/names.ts";
import { BINARY, buildBinary, ROOT } from "./build.ts";
import { runChecks } from "./check.ts";
import { runTool, type ToolResult } from "./run-tool.ts";
import {
  endLeftovers,
  type Group,
  killOwnGroups,
  runGroup,
  summarize,
  TAG,
  type Tally,
  tagOf,
} from "./test-group.ts";

const BINARY_TESTS = "test/e2e/binary*.test.ts";

/** The whole API once more, in two halves: three hubs on Postgres, Redis and S3 behind one address, that of HAProxy. */
const fleetApi = (name: string, files: string): Group => ({
  name,
  files: [files],
  // What a hub makes of hostile input `api` finds out.
  env: { FLOTILLA_TEST_FLEET: "1", FLOTILLA_TEST_OBJECTS: "s3", HOSTILE_RUNS: "6" },
});
const FLEET_API = fleetApi("fleet-api", "test/api/[a-j]*.test.ts");
const FLEET_API_2 = fleetApi("fleet-api-2", "test/api/[k-z]*.test.ts");

/**
 * Whole programs, scripts, recipes, and disks that fail: their tests wait for jobs, so that they do not mind others on the
 * machine. As many as make the lines of their round about as long as each other.
 */
const PROGRAM_TESTS =
  "test/e2e/{ask-agent,cli-dev,client,codegen,codegen-ends,extension,full-disk,guide-how-to,guide-pipeline,guide-start,pipeline,profiles,read-only-database,recipes,session-loads,tasks,update}.test.ts";

/** Pages and browsers that hang, crash or never end: most of their time these tests wait for a deadline of the product. */
const E2E_DEADLINES: Group = {
  name: "e2e-deadlines",
  files: ["test/e2e/{fetch-ends,fetch-failures*,lanes,lanes-crashes,unanswered}.test.ts"],
};
const E2E: Group = {
  name: "e2e",
  files: ["test/e2e/**/*.test.ts"],
  except: [BINARY_TESTS, PROGRAM_TESTS, ...E2E_DEADLINES.files],
};
/** The admin UI in one Chromium against one dev mode: every page; `ui-all` presses every button, which takes minutes. */
const UI: Group = {
  name: "ui",
  files: ["test/ui/{guide,honest,keyboard,login,pages,shell}.test.ts"],
};
/** What pages of a lane may try, and what tries it in a real Chromium; see {@link ATTACK}. */
const ATTACKS_OF_LANES =
  "test/attack/{asset-types,cdp,egress,egress-proxy,extensions,file-dialogs,floods,hostile-answers,lane-page,lane-to-hub,recipe-secrets,vnc}.test.ts";
/** What strangers may try on the hub's calls, its sockets, its files and its sandbox. */
const ATTACK: Group = {
  name: "attack",
  files: ["test/attack/*.test.ts"],
  except: [ATTACKS_OF_LANES],
};
const ATTACK_LANES: Group = {
  name: "attack-lanes",
  files: [ATTACKS_OF_LANES],
  // One script of a sandbox goes through every way to the hub.
  silent_s: 700,
};
const UI_ALL: Group = { name: "ui-all", files: ["test/ui/**/*.test.ts"] };

/** Judge what the build made: that it works, and that it can be operated. */
const UPDATE_TESTS = "test/ops/{updates,upgrade}.test.ts";
const OPS_UPDATES: Group = { name: "ops-updates", files: [UPDATE_TESTS] };
const OF_THE_BINARY: Group = { name: "binary", files: [BINARY_TESTS] };
const OPS: Group = { name: "ops", files: ["test/ops/*.test.ts"], except: [UPDATE_TESTS] };

const UNIT: Group = { name: "unit", files: ["test/unit/**/*.test.ts"] };
const CONTRACT: Group = { name: "contract", files: ["test/contract/**/*.test.ts"] };
const API: Group = { name: "api", files: ["test/api/**/*.test.ts"] };
/** Others' linters, and the packages of the clients. */
const CLIENTS: Group = { name: "clients", files: ["test/programs/*.test.ts"] };
/** Several parts of the program at once, in two halves. */
const FLOW: Group = { name: "flow", files: ["test/flow/[a-o]*.test.ts"] };
const FLOW_2: Group = { name: "flow-2", files: ["test/flow/[p-z]*.test.ts"] };

/**
 * Rounds, one after the other; the lines of a round run side by side, for alone each leaves a core idle half of its time.
 * Those of the first start no browser. Each round has three lines or four, because they wait for more than they compute.
 */
const ROUNDS: Group[][][] = [
  [
    [UNIT, CONTRACT, FLEET_API, ATTACK],
    [API, FLOW],
    [FLOW_2, CLIENTS],
  ],
  [[E2E], [{ name: "programs", files: [PROGRAM_TESTS] }], [E2E_DEADLINES, ATTACK_LANES, UI]],
  // Four: chaos waits much, and so do those who wait for a fleet's updates.
  [
    [{ name: "chaos", files: ["test/chaos/**/*.test.ts"] }],
    [FLEET_API_2],
    [OPS_UPDATES, OF_THE_BINARY],
    [OPS],
  ],
];
const GROUPS = ROUNDS.flat(2);
/** Services under systemd, in the machines of `scripts/lan`: root's, one run at a time, minutes long. */
const OPS_LAN: Group = { name: "ops-lan", files: ["test/ops/lan/*.test.ts"], silent_s: 900 };
/** What has to be asked for. */
const ASKED_FOR = [UI_ALL, OPS_LAN];
/** Outside of the rounds. `bench-all` has to be asked for too. */
const STEPS = ["check", "build", "bench", "bench-all"];
/** What needs the build. */
const BUILT = [OF_THE_BINARY, OPS, OPS_UPDATES, OPS_LAN].map(({ name }) => name);

/** Each benchmark in its smallest form: it must end well, its figures are not judged. */
const BENCH_TIMEOUT_MS = 240_000;

async function runBench(name: string): Promise<ToolResult> {
  const tag = tagOf(`bench-${name}`);
  const argv = [process.execPath, "scripts/bench/run.ts", name, "--tiny"];
  const result = await runTool(name, argv, ROOT, BENCH_TIMEOUT_MS, { [TAG]: tag });
  const left = await endLeftovers(`${TAG}=${tag}`);
  const told = left.map((process) => `left running: ${process}\n`).join("");
  return { ...result, ok: result.ok && left.length === 0, output: result.output + told };
}

/** Those that take seconds. The others have to be asked for: beside chaos they cost a minute. */
const QUICK_BENCHES: readonly string[] = ["boot", "submit", "claim", "pickup"];

async function runBenches(names: readonly string[]): Promise<Omit<Tally, "name" | "ms">> {
  const bad: string[] = [];
  for (const name of names) {
    const { ok, ms, output } = await runBench(name);
    console.log(`${ok ? "ok  " : "FAIL"} ${name} (${(ms / 1000).toFixed(1)} s)`);
    if (ok) continue;
    console.log(output.trimEnd());
    bad.push(name);
  }
  return { passed: names.length - bad.length, failed: bad.length, note: bad.join(", ") };
}

async function step(name: string, work: () => Promise<Omit<Tally, "name" | "ms">>): Promise<Tally> {
  const started = performance.now();
  const end = (part: Omit<Tally, "name" | "ms">) => ({
    name,
    ms: performance.now() - started,
    ...part,
  });
  console.log(`\n== ${name}`);
  try {
    return end(await work());
  } catch (err) {
    console.log(err instanceof Error ? err.message : err);
    return end({ passed: 0, failed: 1, note: err instanceof Error ? err.message : String(err) });
  }
}

/** Shows the first line as it goes; what the others print is shown when the round is over. */
async function runRound(
  lines: Group[][],
  wanted: (name: string) => boolean,
  scratch: string,
): Promise<Tally[]> {
  const held: string[] = [];
  const lanes = lines
    .map((groups) => groups.filter(({ name }) => wanted(name)))
    .filter((groups) => groups.length > 0);
  const tallies = await Promise.all(
    lanes.map(async (groups, i) => {
      const of: Tally[] = [];
      const hold = i === 0 ? undefined : (text: string) => void held.push(text);
      for (const group of groups) of.push(await runGroup(group, scratch, hold));
      return of;
    }),
  );
  process.stderr.write(held.join(""));
  return tallies.flat();
}

/** What was divided among the lines of a round is still one command. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  attack: [ATTACK.name, ATTACK_LANES.name],
  e2e: [E2E.name, E2E_DEADLINES.name],
  flow: [FLOW.name, FLOW_2.name],
  ops: ["ops", OPS_UPDATES.name],
};
const withItsParts = (name: string): readonly string[] => PARTS[name] ?? [name];

async function runAll(asked_for: readonly string[]): Promise<Tally[]> {
  const only = asked_for.flatMap(withItsParts);
  const wanted = (name: string) => only.length === 0 || only.includes(name);
  const named = [...GROUPS, ...ASKED_FOR].map((group) => group.name);
  const unknown = only.filter((o) => ![...STEPS, ...named].includes(o));
  if (unknown.length > 0) throw new Error(`no such group: ${unknown.join(", ")}`);
  const scratch = mkdtempSync(join(tmpdir(), "flotilla-tests-"));
  const tallies: Tally[] = [];
  try {
    if (wanted("check"))
      tallies.push(
        await step("check", async () => {
          const results = await runChecks();
          const failed = results.filter((r) => !r.ok).length;
          return { passed: results.length - failed, failed, note: "" };
        }),
      );
    if (["build", "bench", "bench-all", ...BUILT].some(wanted))
      tallies.push(
        await step("build", async () => {
          // What tests start is what was built: half the CPU time of a start from the sources.
          await buildBinary();
          process.env.FLOTILLA_TEST_PROGRAM = BINARY;
          return { passed: 1, failed: 0, note: "" };
        }),
      );
    const [before, last] = [ROUNDS.slice(0, -1), ROUNDS.at(-1) ?? []];
    for (const lines of before) tallies.push(...(await runRound(lines, wanted, scratch)));
    // The figures of the benchmarks are not judged here.
    const benches = wanted("bench")
      ? step("bench", () => runBenches(QUICK_BENCHES)).then((tally) => [tally])
      : [];
    const ended = await Promise.all([runRound(last, wanted, scratch), benches]);
    tallies.push(...ended.flat());
    for (const group of ASKED_FOR.filter(({ name }) => only.includes(name)))
      tallies.push(await runGroup(group, scratch));
    if (only.includes("bench-all"))
      tallies.push(await step("bench-all", () => runBenches(BENCH_NAMES)));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return tallies;
}

if (import.meta.main) {
  // Groups are process groups of their own, which no signal reaches that is sent to this one.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.once(signal, () => {
      killOwnGroups();
      process.exit(130);
    });
  process.exit(summarize(await runAll(process.argv.slice(2))));
}
