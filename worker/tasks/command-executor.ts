import { type ChildProcess, spawn } from "node:child_process";
import { type Clock, endsWithin } from "#shared/kit/clock.ts";
import { parseJson } from "#shared/kit/json.ts";
import type { Log } from "#shared/kit/log.ts";
import { offerToOomKiller } from "#shared/kit/proc.ts";
import { signalGroup } from "#shared/kit/signal-group.ts";
import { MAX_JSON_DEPTH } from "#shared/protocol/schema/queue.ts";
import { captureAll } from "./capture.ts";
import {
  BrokenExecutorError,
  CANCELLED,
  type Executor,
  failed,
  overTime,
  type RunOptions,
  type TaskEnd,
  type TaskInput,
} from "./executor.ts";
import { watchMemory } from "./memory.ts";
import { openOutlet } from "./pipes.ts";

export interface CommandExecutorDeps {
  clock: Clock;
  log: Log;
  argv: readonly string[];
  cwd: string;
  environment: Record<string, string>;
  /** How much memory the command and all processes below it may hold; null: no limit. */
  memory_bytes: number | null;
}

/** sysexits.h: a temporary failure, try again later. */
const EX_TEMPFAIL = 75;
/** A grandchild may hold the pipes after the command has ended. */
const DRAIN_MS = 250;
const TERM_MS = 3_000;

/**
 * Starts a program for each task: the task is JSON on its stdin, the JSON on its stdout is the output. Exit code 0 is
 * success, 75 asks for another attempt, and any other code gets one too unless the attempts are used up.
 */
export function createCommandExecutor(deps: CommandExecutorDeps): Executor {
  let running: Promise<unknown> = Promise.resolve();
  return {
    run: async (tasks, options) => {
      for (const task of tasks) {
        if (options.signal.aborted) {
          options.onEnd({
            ...empty(task),
            outcome: { kind: "not_run", reason: "stopping", broken: false },
          });
          continue;
        }
        const one = runOne(deps, task, options);
        running = one;
        options.onEnd(await one);
      }
    },
    load: async () => findProgram(deps),
    close: async () => {
      await running;
    },
  };
}

/** Finds the program as execvp does. @throws BrokenExecutorError */
function findProgram({ argv, cwd, environment }: CommandExecutorDeps): void {
  const [program = ""] = argv;
  if (Bun.which(program, { cwd, PATH: environment.PATH ?? "" }) === null)
    throw new BrokenExecutorError(
      `${program} cannot be started: no such program is on this worker, or it may not be executed`,
    );
}

const empty = (task: TaskInput) => ({
  task,
  duration_ms: 0,
  stdout: "",
  stderr: "",
  truncated: false,
});

/** For the spans of the program. Those that read it there do so in capitals. */
const withTrace = (environment: Record<string, string>, { traceparent }: TaskInput) =>
  traceparent === undefined
    ? environment
    : { ...environment, TRACEPARENT: traceparent, traceparent };

/** Rejects when it cannot be started. */
const exitOf = (child: ChildProcess) =>
  new Promise<{ code: number | null; signal: string | null }>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, by) => resolve({ code, signal: by }));
  });

async function runOne(
  { argv, cwd, environment, clock, memory_bytes }: CommandExecutorDeps,
  task: TaskInput,
  { timeout_ms, signal, onBegin }: RunOptions,
): Promise<TaskEnd> {
  const since = performance.now();
  const [program = "", ...args] = argv;
  const out = captureAll();
  const err = captureAll();
  const outlets = [openOutlet(), openOutlet()] as const;
  const child = spawn(program, args, {
    detached: true,
    cwd,
    env: withTrace(environment, task),
    stdio: ["pipe", outlets[0].stdio, outlets[1].stdio],
  });
  outlets[0].read(child.stdout, out.push);
  outlets[1].read(child.stderr, err.push);
  child.stdin?.on("error", () => {});
  child.stdin?.end(
    JSON.stringify({ pk: task.pk, extra: task.extra, attempt: task.attempt, epoch: task.epoch }),
  );
  onBegin?.(task, (bytes) => ({ stdout: out.last(bytes), stderr: err.last(bytes) }));
  const exited = exitOf(child);
  const drained = Promise.all(outlets.map(({ ended }) => ended));
  const over = new AbortController();
  let ended_by: TaskEnd["outcome"] | null = null;
  const kill = (name: NodeJS.Signals) => signalGroup(child.pid, name);
  const end = async (outcome: TaskEnd["outcome"]) => {
    ended_by ??= outcome;
    kill("SIGTERM");
    await clock.sleep(TERM_MS, over.signal);
    kill("SIGKILL");
  };
  if (timeout_ms !== null)
    void clock.sleep(timeout_ms, over.signal).then(() => {
      if (over.signal.aborted) return;
      return end(overTime("the task", timeout_ms));
    });
  const { pid } = child;
  if (pid !== undefined) offerToOomKiller(pid);
  if (pid !== undefined && memory_bytes !== null)
    void watchMemory({
      pid,
      most: memory_bytes,
      clock,
      over: over.signal,
      onExcess: (words) => {
        ended_by ??= failed("crashed", `the command used ${words}`);
        kill("SIGKILL");
      },
    });
  const cancelled = () => void end(failed("error", CANCELLED));
  signal.addEventListener("abort", cancelled, { once: true, signal: over.signal });
  if (signal.aborted) cancelled();
  let outcome: TaskEnd["outcome"];
  try {
    const how = await exited;
    await endsWithin(clock, DRAIN_MS, drained);
    outcome = ended_by ?? outcomeOf(how);
  } catch (error) {
    const reason = `${program} cannot be started: ${(error as Error).message}`;
    outcome = { kind: "not_run", reason, broken: true };
  } finally {
    over.abort();
    // Programs that it started may still run.
    kill("SIGKILL");
    for (const outlet of outlets) outlet.close();
  }
  const [stdout, stderr] = [out.take(), err.take()];
  if (outcome.kind === "done") outcome.output = parsed(stdout.text, stdout.truncated);
  return {
    task,
    outcome,
    stdout: stdout.text,
    stderr: stderr.text,
    duration_ms: Math.round(performance.now() - since),
    truncated: stdout.truncated || stderr.truncated,
  };
}

function outcomeOf({ code, signal }: { code: number | null; signal: string | null }) {
  if (code === 0) return { kind: "done" as const, output: null as unknown };
  if (signal) return failed("crashed", `killed by ${signal}`);
  const words =
    code === EX_TEMPFAIL ? "asked for another try (exit code 75)" : `exited with code ${code}`;
  return failed("error", words);
}

/** The output is what was printed, if that is JSON that is not nested too deeply. */
function parsed(text: string, truncated: boolean): unknown {
  if (truncated || text.trim() === "") return null;
  try {
    return parseJson(text, MAX_JSON_DEPTH);
  } catch {
    return null;
  }
}
