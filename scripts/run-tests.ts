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

/** One command in several processes, which run side by side: its files in parts of about the same length. */
const inParts = (
  name: string,
  globs: readonly string[],
  rest: Omit<Group, "name" | "files"> = {},
) =>
  globs.map(
    (glob, i): Group => ({ name: i === 0 ? name : `${name}-${i + 1}`, files: [glob], ...rest }),
  );

const UNIT: Group = { name: "unit", files: ["test/unit/**/*.test.ts"] };
const CONTRACT: Group = { name: "contract", files: ["test/contract/**/*.test.ts"] };
const API: Group = { name: "api", files: ["test/api/**/*.test.ts"] };
/** The API of three hubs on Postgres, Redis and S3 behind one address, that of HAProxy: what one of them answers for another. */
const OF_SEVERAL_HUBS =
  "test/api/{agents,cdp-connection,fleet-settings,hosts,job-{by-path,events,failures,files,final-state,idempotency,profiles,uploads},jobs,past-sessions,pipeline-idempotency,plugins,profiles,pull,restart,saved-lists,server,session*,settings,submit-at-once,upload-batch,viewer,watches,webdriver,workers,workloads,workload-tasks}.test.ts";
const ON_THREE_HUBS = { FLOTILLA_TEST_FLEET: "1", FLOTILLA_TEST_OBJECTS: "s3" };
const FLEET_API: Group = { name: "fleet-api", files: [OF_SEVERAL_HUBS], env: ON_THREE_HUBS };
/** The rest of the API on three hubs, where it makes no difference which of them is asked. */
const FLEET_API_REST: Group = {
  name: "fleet-api-rest",
  files: ["test/api/*.test.ts"],
  except: [OF_SEVERAL_HUBS],
  // What a hub makes of hostile input `api` finds out.
  env: { ...ON_THREE_HUBS, HOSTILE_RUNS: "6" },
};
/** Several parts of the program at once. */
const FLOW = inParts("flow", ["test/flow/[a-o]*.test.ts", "test/flow/[p-z]*.test.ts"]);
/** Others' linters, and the packages of the clients. */
const CLIENTS: Group = { name: "clients", files: ["test/programs/*.test.ts"] };
/** What goes on for a time while nothing is killed, or one thing. */
const SOAK_TESTS = "test/chaos/{recordings,sessions,soak}.test.ts";
const CHAOS: Group = { name: "chaos", files: ["test/chaos/*.test.ts"], except: [SOAK_TESTS] };
const SOAKS: Group = { name: "soaks", files: [SOAK_TESTS] };

const BINARY_TESTS = "test/e2e/binary*.test.ts";
/** Whole programs, scripts, recipes, and disks that fail. */
const PROGRAMS = inParts("programs", [
  "test/e2e/{ask-agent,codegen*,extension,full-disk,pipeline,read-only-database}.test.ts",
  "test/e2e/{cli-dev,cli-examples,cli-shots,client,mcp,profiles,session-loads}.test.ts",
  "test/e2e/{guide-how-to,guide-pipeline,guide-start,recipes,tasks,update}.test.ts",
]);
/** Pages and browsers that hang, crash or never end: most of their time these tests wait for a deadline of the product. */
const E2E_DEADLINES = inParts("e2e-deadlines", [
  "test/e2e/{fetch-ends,unanswered}.test.ts",
  "test/e2e/{fetch-failures*,lanes,lanes-crashes}.test.ts",
]);
const E2E = inParts(
  "e2e",
  [
    "test/e2e/[a-e]*.test.ts",
    "test/e2e/[f-o]*.test.ts",
    "test/e2e/[p-r]*.test.ts",
    "test/e2e/[s-z]*.test.ts",
  ],
  { except: [BINARY_TESTS, ...[...PROGRAMS, ...E2E_DEADLINES].flatMap(({ files }) => files)] },
);

/** Every page of the admin UI, and every button of each: each part in one Chromium against one dev mode. */
const UI_PAGES = inParts(
  "ui",
  ["test/ui/{guide,honest,keyboard,login,pages,shell}.test.ts", "test/ui/every-button.test.ts"],
  // One test presses every button of several pages.
  { silent_s: 700 },
);
/** What each button does. The first file of the last part, `walks`, needs an installation that is new. */
const UI_BUTTONS = inParts(
  "ui-buttons",
  [
    "test/ui/[a-f]*.test.ts",
    "test/ui/[g-l]*.test.ts",
    "test/ui/[m-r]*.test.ts",
    "test/ui/[s-v]*.test.ts",
    "test/ui/[w-z]*.test.ts",
  ],
  { except: UI_PAGES.flatMap(({ files }) => files) },
);

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

/** Hubs and workers under load go from one build to another and back; an upgrade from a release is in `ops`. */
const UPDATE_TESTS = "test/ops/updates.test.ts";
const OPS_UPDATES: Group = { name: "ops-updates", files: [UPDATE_TESTS] };
/** Judge what the build made: that it works, and that it can be operated. */
const OF_THE_BINARY: Group = { name: "binary", files: [BINARY_TESTS] };
const OPS: Group = { name: "ops", files: ["test/ops/*.test.ts"], except: [UPDATE_TESTS] };

/**
 * Every group, in the order in which they begin. As many as {@link SIDE_BY_SIDE} run at a time, because each waits for
 * more than it computes. What computes most is at the start and what is short at the end, so that all end together.
 */
const GROUPS: readonly Group[] = [
  UNIT,
  CONTRACT,
  API,
  CHAOS,
  ...FLOW,
  ATTACK_LANES,
  FLEET_API,
  ...PROGRAMS,
  ...E2E,
  ...E2E_DEADLINES,
  OPS,
  ...UI_PAGES,
  ATTACK,
  CLIENTS,
  OF_THE_BINARY,
];
const SIDE_BY_SIDE = 4;
/** Services under systemd, in the machines of `scripts/lan`: root's, one run at a time, minutes long. */
const OPS_LAN: Group = { name: "ops-lan", files: ["test/ops/lan/*.test.ts"], silent_s: 900 };
/**
 * A whole release for every machine, its packages on a Debian of their own, and programs of others that the guide has a reader
 * install and that are too large for every run: root's, with Debian's mirror and the npm registry, minutes long.
 */
const OPS_PACKAGES: Group = {
  name: "ops-packages",
  files: ["test/ops/packages/*.test.ts"],
  silent_s: 3_600,
};
/** What the guide has its reader run that takes longer than every run may. */
const LONG: Group = { name: "long", files: ["test/long/*.test.ts"], silent_s: 3_600 };
/** What has to be asked for. */
const ASKED_FOR = [FLEET_API_REST, SOAKS, OPS_UPDATES, OPS_LAN, OPS_PACKAGES, LONG, ...UI_BUTTONS];
/** Outside of the groups. `bench-all` has to be asked for too. */
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

/** Those that take seconds. The others have to be asked for. */
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

/** Shows what runs in the first place as it goes; what ran beside it is shown when everything is over. */
async function runGroups(groups: readonly Group[], scratch: string): Promise<Tally[]> {
  const waiting = [...groups];
  const tallies: Tally[] = [];
  const runInPlace = async (place: number): Promise<string> => {
    const held: string[] = [];
    const hold = place === 0 ? undefined : (text: string) => void held.push(text);
    for (let group = waiting.shift(); group !== undefined; group = waiting.shift())
      tallies.push(await runGroup(group, scratch, hold));
    return held.join("");
  };
  const held = await Promise.all([...Array(SIDE_BY_SIDE).keys()].map(runInPlace));
  process.stderr.write(held.join(""));
  return tallies;
}

/** A group by its name, and its parts: `e2e` stands for `e2e-2` and `e2e-deadlines` as well. */
function withItsParts(name: string): readonly string[] {
  const parts = [...GROUPS, ...UI_BUTTONS].filter(
    (group) => group.name === name || group.name.startsWith(`${name}-`),
  );
  return parts.length > 0 ? parts.map((group) => group.name) : [name];
}

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
    const groups = GROUPS.filter(({ name }) => wanted(name));
    const ended = await Promise.all([
      runGroups(groups, scratch),
      // Their figures are not judged here.
      wanted("bench") ? step("bench", () => runBenches(QUICK_BENCHES)).then((one) => [one]) : [],
    ]);
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
