import { join } from "node:path";
import { Glob } from "bun";
import { listPids, readProc } from "#shared/kit/proc.ts";
import { ROOT } from "./build.ts";
import { killGroup } from "./run-tool.ts";
import { describeFailures, type Failure, readJunit, watchOutput } from "./test-report.ts";

/** One line of the summary. A group that crashed or ran nothing counts as one failure. */
export interface Tally {
  name: string;
  passed: number;
  failed: number;
  ms: number;
  /** What it and the processes that it has ended cost the processor. */
  cpu_ms?: number;
  note: string;
  /** Told again at the end: the middle of a long log may be cut away. */
  failures?: readonly Failure[];
}

export interface Group {
  name: string;
  /** Globs below the root, and what they leave out. */
  files: string[];
  except?: string[];
  /** What it may need to print the next line; SILENT_S when left out. */
  silent_s?: number;
  env?: Record<string, string>;
}

/** A group that prints nothing for this long hangs: longer than any of its tests takes on a busy machine. */
const SILENT_S = 300;
/** Longer than a test waits for one thing, so that the wait that was in vain says what it was for. */
const TEST_TIMEOUT_MS = 90_000;
/** Every process of a group inherits this variable, wherever it moves to. */
export const TAG = "FLOTILLA_TEST_GROUP";

/** The tag of what runs now, a group or a benchmark: no other run of the tests has it. */
export const tagOf = (name: string): string => `${name}-${process.pid}-${Date.now()}`;

const pidsWith = (tag: string | RegExp): number[] =>
  listPids().filter((pid) => (readProc(pid, "environ")?.search(tag) ?? -1) >= 0);

/** Ends whatever any group of this run has started: for a run that is told to end. */
export function killOwnGroups(): void {
  for (const pid of pidsWith(new RegExp(`${TAG}=[\\w-]+-${process.pid}-`))) kill(pid);
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // ended meanwhile
  }
}

const taggedProcesses = (tag: string): { pid: number; command: string }[] =>
  pidsWith(tag)
    .map((pid) => ({ pid, command: (readProc(pid, "cmdline") ?? "").replaceAll("\0", " ").trim() }))
    .filter(({ command }) => command !== "");

/** What a process that was told to end may need on a busy machine. */
const GRACE_MS = 20_000;

/** What a group left running; ended here, so that the next group starts clean. */
export async function endLeftovers(tag: string): Promise<string[]> {
  const end = Date.now() + GRACE_MS;
  while (taggedProcesses(tag).length > 0 && Date.now() < end) await Bun.sleep(50);
  const left = taggedProcesses(tag);
  for (const { pid } of left) kill(pid);
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

/** `bun test` of the files, in a process group of its own. */
const startTests = (
  group: Group,
  files: readonly string[],
  { report, tag, piped }: { report: string; tag: string; piped: boolean },
) =>
  Bun.spawn(
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
      env: { ...process.env, ...group.env, [TAG]: tag },
      stdin: "ignore",
      // What tests print themselves; everything else goes to stderr.
      stdout: piped ? "pipe" : "inherit",
      stderr: "pipe",
      detached: true,
    },
  );

/**
 * Runs the files of a group in one process of their own; whatever lives on after it is ended and told.
 * @param held takes what is printed, for a group that runs beside another one; absent: it is shown as it comes.
 */
export async function runGroup(
  group: Group,
  scratch: string,
  held?: (text: string) => void,
): Promise<Tally> {
  const started = performance.now();
  const failures: Failure[] = [];
  let cpu_ms = 0;
  const tally = (passed: number, failed: number, note: string): Tally => {
    const ms = performance.now() - started;
    return { name: group.name, passed, failed, ms, cpu_ms, note, failures };
  };
  const files = await filesOf(group);
  if (files.length === 0) return tally(0, 1, "no test files");
  const show = held ?? ((text: string) => process.stderr.write(text));
  show(`\n== ${group.name}: ${files.length} files\n`);
  const report = join(scratch, `${group.name}.xml`);
  const tag = tagOf(group.name);
  const child = startTests(group, files, { report, tag, piped: held !== undefined });
  const silent_s = group.silent_s ?? SILENT_S;
  let silent = false;
  const timer = setTimeout(() => {
    silent = true;
    killGroup(child.pid);
  }, silent_s * 1_000);
  const text = new TextDecoder();
  const output = watchOutput(child.stderr, (bytes) => {
    timer.refresh();
    if (held) held(text.decode(bytes, { stream: true }));
    else process.stderr.write(bytes);
  });
  const printed = child.stdout ? new Response(child.stdout).text().then(show) : undefined;
  const code = await child.exited;
  cpu_ms = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1_000;
  clearTimeout(timer);
  const left = await endLeftovers(`${TAG}=${tag}`);
  const counts = readJunit(
    await Bun.file(report)
      .text()
      .catch(() => ""),
  );
  await Promise.race([Promise.all([output.ended, printed]), Bun.sleep(GRACE_MS)]);
  const { strays } = output;
  failures.push(...(counts?.failures ?? []), ...strays);
  if (!counts || silent)
    failures.push({ file: group.name, name: "its last words", text: output.tail() });
  if (silent) return tally(counts?.passed ?? 0, 1, `killed after ${silent_s} s without a word`);
  if (!counts) return tally(0, 1, `ended with ${code} and no report`);
  const notes: string[] = [];
  // A test that did not run proves nothing.
  const failed = counts.failed + counts.skipped + strays.length;
  if (counts.skipped > 0) notes.push(`${counts.skipped} skipped`);
  if (left.length > 0) notes.push(`left running: ${left.join("; ")}`);
  if (counts.passed + failed === 0) notes.push("ran no test");
  else if (code !== 0 && failed === 0) notes.push(`ended with ${code} though no test failed`);
  const wrong = left.length > 0 || counts.passed + failed === 0 || (code !== 0 && failed === 0);
  return tally(counts.passed, failed + (wrong ? 1 : 0), notes.join(", "));
}

/** Every failure once more, one line for each group, then the sum; gives the exit code of the whole run. */
export function summarize(tallies: Tally[]): number {
  const failures = tallies.flatMap((t) => t.failures ?? []);
  if (failures.length > 0) console.log(`\n== what failed\n${describeFailures(failures)}`);
  console.log("");
  for (const t of tallies)
    console.log(
      `${t.name.padEnd(11)} ${String(t.passed).padStart(5)} passed ${String(t.failed).padStart(4)} failed ` +
        `${(t.ms / 1000).toFixed(1).padStart(7)} s` +
        `${t.cpu_ms ? ` (${(t.cpu_ms / 1000).toFixed(0)} s of a core)` : ""}${t.note ? `  ${t.note}` : ""}`,
    );
  const passed = tallies.reduce((sum, t) => sum + t.passed, 0);
  const failed = tallies.reduce((sum, t) => sum + t.failed, 0);
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 && passed > 0 ? 0 : 1;
}
