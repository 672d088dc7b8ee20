import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/**
 * The command that starts the program: the executable that the run of all tests has built, which starts with half the CPU
 * time of the sources; else the sources.
 */
export const PROGRAM: readonly string[] = process.env.FLOTILLA_TEST_PROGRAM
  ? [process.env.FLOTILLA_TEST_PROGRAM]
  : [process.execPath, join(import.meta.dir, "../../../hub/main.ts")];

/** Where commands of the guide are pasted: with the Bun of this process, also where only the tests were started with it. */
export const PATH_WITH_BUN = `${dirname(process.execPath)}:${process.env.PATH}`;

/** The program as a user starts it: its output kept, its end waited for. */
export interface Program {
  readonly pid: number;
  readonly exited: Promise<number>;
  readonly stdout: string;
  readonly stderr: string;
  /** Resolves when standard output or error holds `text`; rejects when the program ends first or after `ms`. */
  says(text: string, ms?: number): Promise<void>;
  kill(signal: NodeJS.Signals): void;
}

export interface ProgramOptions {
  cwd?: string;
  env?: Record<string, string | undefined>;
}

/** Names under which the tests' own environment would reach the program. */
const NOT_INHERITED = /^(SVC_|HUB_URL|WORKER_|LANE_|MAX_CONCURRENT|NOVNC_|PUBLIC_BASE_URL)/;

export const cleanEnv = (extra: Record<string, string | undefined> = {}) => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !NOT_INHERITED.test(name))),
  ...extra,
});

export function startProgram(argv: string[], options: ProgramOptions = {}): Program {
  const proc = Bun.spawn(argv, {
    cwd: options.cwd,
    env: cleanEnv(options.env),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const seen = { stdout: "", stderr: "" };
  /** Whoever waits for more output. */
  const waiting: (() => void)[] = [];
  const changed = () => {
    for (const wake of waiting.splice(0)) wake();
  };
  let open = 2;
  const read = async (name: "stdout" | "stderr") => {
    const decoder = new TextDecoder();
    for await (const chunk of proc[name]) {
      seen[name] += decoder.decode(chunk, { stream: true });
      changed();
    }
    open -= 1;
    changed();
  };
  const reading = Promise.all([read("stdout"), read("stderr")]);
  const ended = reading.then(() => proc.exited);
  return {
    pid: proc.pid,
    exited: ended,
    get stdout() {
      return seen.stdout;
    },
    get stderr() {
      return seen.stderr;
    },
    says: async (text, ms = 120_000) => {
      const end = Date.now() + ms;
      while (!seen.stdout.includes(text) && !seen.stderr.includes(text)) {
        if (open === 0 || Date.now() > end)
          throw new Error(`"${text}" never came:\n${seen.stdout}\n${seen.stderr}`);
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, end - Date.now());
          waiting.push(() => {
            clearTimeout(timer);
            resolve();
          });
        });
      }
    },
    kill: (signal) => proc.kill(signal),
  };
}

/** Runs to the end; exit code and output. */
export async function runProgram(argv: string[], options: ProgramOptions = {}) {
  const program = startProgram(argv, options);
  const code = await program.exited;
  return { code, stdout: program.stdout, stderr: program.stderr };
}

/** An empty directory that is gone after `use`. */
export async function inEmptyDir<T>(use: (dir: string) => Promise<T>): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-empty-"));
  try {
    return await use(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
