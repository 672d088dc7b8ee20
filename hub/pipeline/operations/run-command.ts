import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { type Clock, endsWithin } from "#shared/kit/clock.ts";
import type { Ends } from "#shared/kit/ends.ts";
import { signalGroup } from "#shared/kit/signal-group.ts";

export interface CommandRun {
  argv: readonly string[];
  cwd: string;
  environment: Readonly<Record<string, string>>;
  timeout_ms: number;
  /** Ends it before its time. */
  signal: AbortSignal;
  /** Output of both streams, as it arrives. */
  output: Pick<Ends, "push">;
  clock: Clock;
}

export interface CommandEnd {
  exit_code: number | null;
  /** Null after exit code 0. */
  error: string | null;
}

const TERM_MS = 5_000;
/** Programs that it started may keep the streams open after it has ended. */
const DRAIN_MS = 250;

/**
 * Starts a program in its own process group, without a shell and without input. At its deadline, and when `signal`
 * aborts, the group is ended: SIGTERM, then SIGKILL. Nothing that it started outlives it, except what left the group.
 * `ended` never rejects; `group` is null when it could not be started.
 */
export function startCommand(run: CommandRun): {
  group: number | null;
  ended: Promise<CommandEnd>;
} {
  const [program = "", ...args] = run.argv;
  const child = spawn(program, args, {
    detached: true,
    cwd: run.cwd,
    env: { ...run.environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  return { group: child.pid ?? null, ended: endOf(child, program, run) };
}

/** The same to its end. */
export const runCommand = (run: CommandRun): Promise<CommandEnd> => startCommand(run).ended;

type Child = ChildProcessByStdio<null, Readable, Readable>;

async function endOf(child: Child, program: string, run: CommandRun): Promise<CommandEnd> {
  const { clock, signal, timeout_ms } = run;
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => run.output.push(chunk));
  const exited = new Promise<{ code: number | null; by: string | null }>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, by) => resolve({ code, by }));
  });
  const drained = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const over = new AbortController();
  const kill = (name: NodeJS.Signals) => signalGroup(child.pid, name);
  let ended_by: string | null = null;
  const end = async (why: string) => {
    ended_by ??= why;
    kill("SIGTERM");
    await clock.sleep(TERM_MS, over.signal);
    kill("SIGKILL");
  };
  void clock.sleep(timeout_ms, over.signal).then(() => {
    if (!over.signal.aborted) return end(`it did not finish within ${timeout_ms / 1_000} s`);
  });
  const stop = () => void end("it was stopped");
  signal.addEventListener("abort", stop, { once: true, signal: over.signal });
  if (signal.aborted) stop();
  try {
    const { code, by } = await exited;
    await endsWithin(clock, DRAIN_MS, drained);
    if (ended_by !== null) return { exit_code: code, error: ended_by };
    if (code === 0) return { exit_code: 0, error: null };
    return { exit_code: code, error: by ? `killed by ${by}` : `exited with code ${code}` };
  } catch (err) {
    return { exit_code: null, error: `${program} cannot be started: ${(err as Error).message}` };
  } finally {
    over.abort();
    kill("SIGKILL");
    child.stdout.destroy();
    child.stderr.destroy();
  }
}
