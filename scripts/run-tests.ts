import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Glob } from "bun";
import { buildBinary, ROOT } from "./build.ts";
import { runChecks } from "./check.ts";
import { killGroup } from "./run-tool.ts";

/** One line of the summary. A group that crashed or ran nothing counts as one failure. */
interface Tally {
  name: string;
  passed: number;
  failed: number;
  ms: number;
  note: string;
}

interface Group {
  name: string;
  /** Globs below the root, and what they leave out. */
  files: string[];
  except?: string[];
  timeout_s: number;
}

const BINARY_TESTS = "test/e2e/binary*.test.ts";

/** In order; groups never overlap, because browsers and databases of two groups would fight for two cores. */
const GROUPS: Group[] = [
  { name: "unit", files: ["test/unit/**/*.test.ts"], timeout_s: 120 },
  { name: "contract", files: ["test/contract/**/*.test.ts"], timeout_s: 180 },
  { name: "api", files: ["test/api/**/*.test.ts"], timeout_s: 180 },
  { name: "flow", files: ["test/flow/**/*.test.ts"], timeout_s: 180 },
  { name: "e2e", files: ["test/e2e/**/*.test.ts"], except: [BINARY_TESTS], timeout_s: 600 },
  { name: "chaos", files: ["test/chaos/**/*.test.ts"], timeout_s: 480 },
  { name: "binary", files: [BINARY_TESTS], timeout_s: 180 },
];

/** A test that needs longer says so itself. */
const TEST_TIMEOUT_MS = 30_000;
/** Every process of a group inherits this variable, wherever it moves to. */
const TAG = "FLOTILLA_TEST_GROUP";

const attribute = (tag: string, name: string): number =>
  Number(new RegExp(`\\b${name}="(\\d+)"`).exec(tag)?.[1] ?? 0);

/** Counts of a JUnit report; null when the run ended before it was written. */
export function readJunit(
  report: string,
): { passed: number; failed: number; skipped: number } | null {
  const root = /<testsuites\b[^>]*>/.exec(report)?.[0];
  if (!root) return null;
  const failed = attribute(root, "failures") + attribute(root, "errors");
  const skipped = attribute(root, "skipped");
  return { failed, skipped, passed: attribute(root, "tests") - failed - skipped };
}

function taggedProcesses(tag: string): { pid: number; command: string }[] {
  const found: { pid: number; command: string }[] = [];
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      if (!readFileSync(`/proc/${pid}/environ`, "latin1").includes(tag)) continue;
      const command = readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ").trim();
      if (command !== "") found.push({ pid: Number(pid), command });
    } catch {
      // gone between the listing and the read
    }
  }
  return found;
}

/** What a group left running; ended here, so that the next group starts clean. */
function endLeftovers(tag: string): string[] {
  const left = taggedProcesses(tag);
  for (const { pid } of left) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // ended meanwhile
    }
  }
  return left.map((p) => `${p.pid} ${p.command.slice(0, 120)}`);
}

async function filesOf(group: Group): Promise<string[]> {
  const scan = (patterns: string[]) =>
    Promise.all(patterns.map((p) => Array.fromAsync(new Glob(p).scan(ROOT))));
  const skipped = new Set((await scan(group.except ?? [])).flat());
  return (await scan(group.files))
    .flat()
    .filter((file) => !skipped.has(file))
    .sort();
}

async function runGroup(group: Group, scratch: string): Promise<Tally> {
  const started = performance.now();
  const tally = (passed: number, failed: number, note: string): Tally => {
    return { name: group.name, passed, failed, ms: performance.now() - started, note };
  };
  const files = await filesOf(group);
  if (files.length === 0) return tally(0, 1, "no test files");
  console.log(`\n== ${group.name}: ${files.length} files`);
  const report = join(scratch, `${group.name}.xml`);
  const tag = `${group.name}-${process.pid}-${Date.now()}`;
  const child = Bun.spawn(
    [
      process.execPath,
      "test",
      `--timeout=${TEST_TIMEOUT_MS}`,
      "--reporter=junit",
      `--reporter-outfile=${report}`,
      ...files.map((file) => `./${file}`),
    ],
    {
      cwd: ROOT,
      env: { ...process.env, [TAG]: tag },
      stdin: "ignore",
      stdout: "inherit",
      stderr: "inherit",
      detached: true,
    },
  );
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    killGroup(child.pid);
  }, group.timeout_s * 1000);
  const code = await child.exited;
  clearTimeout(timer);
  const left = endLeftovers(`${TAG}=${tag}`);
  const counts = readJunit(
    await Bun.file(report)
      .text()
      .catch(() => ""),
  );
  if (late) return tally(counts?.passed ?? 0, 1, `killed after ${group.timeout_s} s`);
  if (!counts) return tally(0, 1, `ended with ${code} and no report`);
  const notes: string[] = [];
  if (counts.skipped > 0) notes.push(`${counts.skipped} skipped`);
  if (left.length > 0) notes.push(`left running: ${left.join("; ")}`);
  if (counts.passed + counts.failed === 0) notes.push("ran no test");
  else if (code !== 0 && counts.failed === 0)
    notes.push(`ended with ${code} though no test failed`);
  const wrong =
    left.length > 0 || counts.passed + counts.failed === 0 || (code !== 0 && counts.failed === 0);
  return tally(counts.passed, counts.failed + (wrong ? 1 : 0), notes.join(", "));
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

async function runAll(only: string[]): Promise<Tally[]> {
  const wanted = (name: string) => only.length === 0 || only.includes(name);
  const unknown = only.filter((o) => !["check", "build", ...GROUPS.map((g) => g.name)].includes(o));
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
    for (const group of GROUPS) {
      if (!wanted(group.name)) continue;
      if (group.name === "binary")
        tallies.push(
          await step("build", async () => {
            await buildBinary();
            return { passed: 1, failed: 0, note: "" };
          }),
        );
      tallies.push(await runGroup(group, scratch));
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return tallies;
}

if (import.meta.main) {
  const tallies = await runAll(process.argv.slice(2));
  console.log("");
  for (const t of tallies)
    console.log(
      `${t.name.padEnd(9)} ${String(t.passed).padStart(5)} passed ${String(t.failed).padStart(4)} failed ` +
        `${(t.ms / 1000).toFixed(1).padStart(7)} s${t.note ? `  ${t.note}` : ""}`,
    );
  const passed = tallies.reduce((sum, t) => sum + t.passed, 0);
  const failed = tallies.reduce((sum, t) => sum + t.failed, 0);
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed === 0 && passed > 0 ? 0 : 1);
}
