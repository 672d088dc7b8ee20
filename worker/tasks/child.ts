import { spawn } from "node:child_process";
import type { Duplex } from "node:stream";
import { type Clock, endsWithin, systemClock } from "#shared/kit/clock.ts";
import { isNestedDeeper, parseJson } from "#shared/kit/json.ts";
import { offerToOomKiller } from "#shared/kit/proc.ts";
import { signalGroup } from "#shared/kit/signal-group.ts";
import { MAX_JSON_DEPTH } from "#shared/protocol/schema/queue.ts";
import { createCapture, type StreamCapture } from "./capture.ts";
import { openOutlet } from "./pipes.ts";

/** A frame of wp-exec/1, either way. */
export interface Frame {
  type: string;
  [key: string]: unknown;
}

export interface ChildOptions {
  program: string;
  args: string[];
  cwd: string;
  environment: Record<string, string>;
  onFrame(frame: Frame): void;
  clock?: Clock;
}

/** Steps of ending a group: closing its pipe, then SIGTERM, then SIGKILL. */
const END_MS = { asked: 1_000, term: 2_000, killed: 5_000 };
/** A child that sends a longer frame is ended. */
const MAX_FRAME_BYTES = 16 * 1024 * 1024 + 1_024;
const LF = 0x0a;

/** A process that speaks wp-exec/1 on fd 3 and leads its own process group. */
export interface Child {
  readonly pid: number;
  readonly stdout: StreamCapture;
  readonly stderr: StreamCapture;
  /** Resolves once the leader is gone, with a message for people: `exited with code 3`, `killed by SIGKILL`. */
  readonly exited: Promise<string>;
  /**
   * Calls back with that message; returns the function that unsubscribes. For callers that end before the child does: a
   * promise keeps everything that waits for it alive, and a warm child outlives any number of tasks.
   */
  onExit(listener: (how: string) => void): () => void;
  readonly alive: boolean;
  send(frame: Frame): void;
  signal(name: NodeJS.Signals): void;
  /** Ends the whole group. Idempotent. */
  end(options?: { at_once?: boolean }): Promise<void>;
}

/** @throws when the program cannot be started. */
export async function startChild(options: ChildOptions): Promise<Child> {
  const clock = options.clock ?? systemClock;
  const stdout = createCapture();
  const stderr = createCapture();
  const outlets = [openOutlet(), openOutlet()] as const;
  const [out, err] = outlets;
  const child = spawn(options.program, options.args, {
    detached: true,
    stdio: ["ignore", out.stdio, err.stdio, "pipe"],
    cwd: options.cwd,
    env: options.environment,
  });
  out.read(child.stdout, stdout.push);
  err.read(child.stderr, stderr.push);
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
  const pid = child.pid as number;
  offerToOomKiller(pid);
  const control = child.stdio[3] as Duplex;
  let alive = true;
  const exited = new Promise<string>((resolve) =>
    child.once("exit", (code, signal) => {
      alive = false;
      resolve(signal ? `killed by ${signal}` : `exited with code ${code}`);
    }),
  );
  const listeners = new Set<(how: string) => void>();
  void exited.then((how) => {
    for (const listener of listeners) listener(how);
  });
  const signalAll = (name: NodeJS.Signals) => signalGroup(pid, name);
  control.on("error", () => {});
  readFrames(control, options.onFrame, () => signalAll("SIGKILL"));

  const end = async (at_once: boolean): Promise<void> => {
    const gone = (ms: number) => endsWithin(clock, ms, exited);
    control.end();
    let left = !at_once && (await gone(END_MS.asked));
    if (!left && !at_once) {
      signalAll("SIGTERM");
      left = await gone(END_MS.term);
    }
    // Even when the leader has ended by itself: what it started may still run.
    signalAll("SIGKILL");
    if (!left) await gone(END_MS.killed);
    // A grandchild may hold the pipes open forever.
    for (const outlet of outlets) outlet.close();
    control.destroy();
  };
  let ending: Promise<void> | undefined;
  return {
    pid,
    stdout,
    stderr,
    exited,
    onExit: (listener) => {
      if (alive) listeners.add(listener);
      else void exited.then(listener);
      return () => listeners.delete(listener);
    },
    get alive() {
      return alive;
    },
    send: (frame) => void control.write(`${JSON.stringify(frame)}\n`),
    signal: (name) => {
      if (!alive) return;
      try {
        process.kill(pid, name);
      } catch {
        // It is already gone.
      }
    },
    end: ({ at_once = false } = {}) => {
      ending ??= end(at_once);
      return ending;
    },
  };
}

function readFrames(control: Duplex, onFrame: (frame: Frame) => void, tooLong: () => void): void {
  let parts: Buffer[] = [];
  let size = 0;
  control.on("data", (chunk: Buffer) => {
    let from = 0;
    for (let at = chunk.indexOf(LF); at >= 0; at = chunk.indexOf(LF, from)) {
      parts.push(chunk.subarray(from, at));
      const line = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
      parts = [];
      size = 0;
      from = at + 1;
      const frame = parseFrame(line.toString());
      if (frame) onFrame(frame);
    }
    const rest = chunk.subarray(from);
    if (rest.length === 0) return;
    parts.push(rest);
    size += rest.length;
    if (size > MAX_FRAME_BYTES) {
      parts = [];
      size = 0;
      tooLong();
    }
  });
}

/** The control plane refuses reports that are nested much deeper; a frame adds one level to the output. */
const MAX_FRAME_DEPTH = MAX_JSON_DEPTH + 1;

/** Null for anything that is not a frame: a module may write to fd 3 by mistake. */
function parseFrame(line: string): Frame | null {
  try {
    const frame = parseJson(line, MAX_FRAME_DEPTH) as Frame | null;
    return typeof frame?.type === "string" ? frame : null;
  } catch {
    const [, id, epoch] = /^\{"type":"result","id":(\d+),"epoch":(\d+),/.exec(line) ?? [];
    if (id === undefined) return null;
    // The task would never end without an answer.
    return {
      type: "error",
      id: Number(id),
      epoch: Number(epoch),
      message: isNestedDeeper(line, MAX_FRAME_DEPTH)
        ? `the output is nested more than ${MAX_JSON_DEPTH} levels deep`
        : "the output is not JSON",
    };
  }
}
