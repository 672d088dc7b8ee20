import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import type { BrowserUser } from "#shared/kit/browser-user.ts";
import { LANE_TAG } from "./tagged.ts";

const TAIL_BYTES = 4_096;
/** Every Chromium without a desktop prints these lines; they hide the one that matters. */
const NOISE = /dbus|dconf|unexpected operator|^\s*$/;

export interface SpawnOptions {
  program: string;
  args: string[];
  environment: Record<string, string>;
  tag: string;
  user: BrowserUser | null;
  /** Whether file descriptors 3 and 4 are pipes. */
  pipe: boolean;
  cwd: string;
}

/** How a process of a lane ended. */
export interface ProcessExit {
  code: number | null;
  signal: string | null;
  /** Last lines of its stderr, for the error message of whatever was waiting. */
  log_tail: string;
}

export interface Spawned {
  child: ChildProcess;
  pid: number;
  exited: Promise<ProcessExit>;
  /** Resolves with the first line of stderr that matches; never rejects, and never settles without one. */
  line(pattern: RegExp): Promise<string>;
  tail(): string;
}

/**
 * Starts a program as the leader of its own session, with a tag, and keeps the end of its output. @throws when it
 * cannot be run.
 */
export async function spawnTagged(options: SpawnOptions): Promise<Spawned> {
  const stdio: StdioOptions = options.pipe
    ? ["ignore", "ignore", "pipe", "pipe", "pipe"]
    : ["ignore", "ignore", "pipe"];
  const child = spawn(options.program, options.args, {
    detached: true,
    stdio,
    cwd: options.cwd,
    env: { ...options.environment, [LANE_TAG]: options.tag },
    ...(options.user ? { uid: options.user.uid, gid: options.user.gid } : {}),
  });
  const errors = keepTail(child);
  const exited = new Promise<ProcessExit>((resolve) =>
    child.once("exit", (code, signal) =>
      // The end of its output is already in the pipe, but may not have been read yet.
      setImmediate(() => {
        child.stderr?.destroy();
        resolve({ code, signal, log_tail: errors.tail() });
      }),
    ),
  );
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
  if (child.pid === undefined) throw new Error(`${options.program} has no pid`);
  return { child, pid: child.pid, exited, line: errors.line, tail: errors.tail };
}

function keepTail(child: ChildProcess) {
  let text = "";
  const waiting = new Set<{ pattern: RegExp; resolve(line: string): void }>();
  // The last piece may be half a line.
  const lines = () => text.split("\n").slice(0, -1);
  const answer = () => {
    for (const waiter of waiting) {
      const line = lines().find((l) => waiter.pattern.test(l));
      if (line === undefined) continue;
      waiting.delete(waiter);
      waiter.resolve(line);
    }
  };
  child.stderr?.setEncoding("utf8");
  child.stderr?.on("data", (chunk: string) => {
    text += chunk;
    answer();
    if (text.length > TAIL_BYTES * 4) text = text.slice(-TAIL_BYTES);
  });
  child.stderr?.on("error", () => {});
  return {
    tail: () =>
      text
        .split("\n")
        .filter((line) => !NOISE.test(line))
        .join("\n")
        .slice(-TAIL_BYTES),
    line: (pattern: RegExp) =>
      new Promise<string>((resolve) => {
        waiting.add({ pattern, resolve });
        answer();
      }),
  };
}
