import { afterAll, beforeAll } from "bun:test";
import { ensureBinary } from "../../../scripts/build.ts";
import { until } from "./fleet-process.ts";
import { type Program, type ProgramOptions, runProgram, startProgram } from "./program.ts";

/** The compiled binary for the tests of one file: built before the first, every process ended after the last. */
export interface BinaryRig {
  /** Its path, once the first test runs. */
  readonly path: string;
  /** `prefix`: a command line that takes it as its own last words, such as setpriv's. `binary`: another version's. */
  start(
    args: string[],
    options?: ProgramOptions & { prefix?: string[]; binary?: string | undefined },
  ): Program;
  /** To its end. */
  run(
    args: string[],
    options?: ProgramOptions,
  ): Promise<{ code: number; stdout: string; stderr: string }>;
  /** Sends `signal`; resolves with the exit code. */
  end(program: Program, signal: NodeJS.Signals): Promise<number>;
  /** Of a program that has ended by itself. */
  exitCode(program: Program): Promise<number>;
}

const BUILD_MS = 300_000;
/** A hub that starts on a busy machine (load 47) took longer than 30 s. */
const LISTEN_MS = 120_000;

export function binaryRig(): BinaryRig {
  let path = "";
  const running = new Set<Program>();
  beforeAll(async () => {
    path = await ensureBinary();
  }, BUILD_MS);
  afterAll(async () => {
    for (const program of running) program.kill("SIGKILL");
    await Promise.all([...running].map((program) => program.exited));
  });
  const exitCode = async (program: Program) => {
    const code = await program.exited;
    running.delete(program);
    return code;
  };
  return {
    get path() {
      return path;
    },
    start: (args, { prefix = [], binary = path, ...options } = {}) => {
      const program = startProgram([...prefix, binary, ...args], options);
      running.add(program);
      return program;
    },
    run: (args, options) => runProgram([path, ...args], options),
    end: (program, signal) => {
      program.kill(signal);
      return exitCode(program);
    },
    exitCode,
  };
}

/** The address in the log line or banner a listening mode begins with. */
export async function addressOf(program: Program): Promise<string> {
  const port = await until("the listening port", LISTEN_MS, () => {
    const line = /"port":(\d+)/.exec(program.stderr) ?? /127\.0\.0\.1:(\d+)/.exec(program.stdout);
    return line?.[1];
  });
  return `http://127.0.0.1:${port}`;
}

export const statusOf = async (url: string): Promise<number> =>
  (await fetch(url, { signal: AbortSignal.timeout(60_000) })).status;

const NOBODY = 65_534;

/** Begins a command line that runs as nobody. Only root can become somebody else; for anybody else it is empty. */
export const asNobody = (): string[] =>
  process.getuid?.() === 0
    ? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"]
    : [];
