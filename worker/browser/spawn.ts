import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import type { BrowserExit } from "../lanes/types.ts";
import { LANE_TAG } from "./proc.ts";
import type { BrowserUser } from "./user.ts";

const TAIL_BYTES = 4_096;
/** What every Chromium without a desktop says; it hides the line that matters. */
const NOISE = /dbus|dconf|unexpected operator|^\s*$/;

export interface SpawnOptions {
  program: string;
  args: string[];
  environment: Record<string, string>;
  tag: string;
  user: BrowserUser | null;
  /** Fds 3 and 4 as pipes. */
  pipe: boolean;
  cwd: string;
}

export interface Spawned {
  child: ChildProcess;
  pid: number;
  exited: Promise<BrowserExit>;
  /** Resolves with the first line of stderr that matches; never rejects, and never settles without one. */
  line(pattern: RegExp): Promise<string>;
  tail(): string;
}

/** Starts a program as the leader of its own session, tagged, with its last words kept. @throws when it cannot be run. */
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
  const exited = new Promise<BrowserExit>((resolve) =>
    child.once("exit", (code, signal) => {
      child.stderr?.destroy();
      resolve({ code, signal, log_tail: errors.tail() });
    }),
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
  let waiting: { pattern: RegExp; resolve(line: string): void }[] = [];
  child.stderr?.setEncoding("utf8");
  child.stderr?.on("data", (chunk: string) => {
    text += chunk;
    for (const line of waiting.length === 0 ? [] : text.split("\n"))
      waiting = waiting.filter((w) => !w.pattern.test(line) || (w.resolve(line), false));
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
        const there = text.split("\n").find((line) => pattern.test(line));
        if (there !== undefined) resolve(there);
        else waiting.push({ pattern, resolve });
      }),
  };
}
