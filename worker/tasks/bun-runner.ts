/**
 * Runs a plugin's tasks inside a warm Bun process: protocol wp-exec/1, as runner.py does for Python. It is started as a
 * separate file, so it imports nothing from the worker except the store next to it. Frames are lines of JSON on file
 * descriptor 3, both ways; stdout and stderr are untouched, except that each task's mark is written to both after it.
 */
import { read, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "./flotilla-store.ts";

const FD = 3;
const MAX_FRAME = 16 * 1024 * 1024;
const LF = 0x0a;

interface TaskFrame {
  id: number;
  epoch: number;
  attempt: number;
  max_attempts: number;
  pk: string;
  extra: unknown;
  nonce: string;
  deadline_ms: number | null;
  traceparent?: string;
}
interface InitFrame {
  module: string | null;
  source_path: string | null;
  init_kwargs: Record<string, unknown>;
}
type Incoming =
  | ({ type: "task" } & TaskFrame)
  | { type: "batch"; items: TaskFrame[] }
  | { type: "ping" }
  | { type: "drain" };

/** Throw it to have the task run again after this many seconds. */
class RetryLater extends Error {
  readonly retry_after_ms: number;
  constructor(seconds: number, message = `retry after ${seconds} s`) {
    super(message);
    this.name = "RetryLater";
    this.retry_after_ms = Math.max(0, Math.round(seconds * 1_000));
  }
}
/** Throw it when no further attempt can help. */
class NoRetry extends Error {
  readonly no_retry = true;
  constructor(message: string) {
    super(message);
    this.name = "NoRetry";
  }
}

const sleepCell = new Int32Array(new SharedArrayBuffer(4));

/** Waits when the pipe is full and the module has set it to non-blocking. */
function writeAll(fd: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; )
    try {
      at += writeSync(fd, bytes, at);
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== "EAGAIN") throw err;
      Atomics.wait(sleepCell, 0, 0, 1);
    }
}

function send(frame: Record<string, unknown>): void {
  // Starts a new line, in case the module has written to this descriptor by mistake.
  const bytes = Buffer.from(`\n${JSON.stringify(frame)}\n`);
  if (bytes.length > MAX_FRAME) throw new Error(`the output is larger than ${MAX_FRAME} bytes`);
  writeAll(FD, bytes);
}

/**
 * The lines of fd 3. Read only between tasks: a read that waits holds one of the runtime's I/O threads. A small
 * machine has few of those, and a running module needs them.
 */
async function* frames(): AsyncGenerator<unknown> {
  let buffered = Buffer.alloc(0);
  const chunk = Buffer.alloc(1 << 20);
  for (;;) {
    const end = buffered.indexOf(LF);
    if (end >= 0) {
      const line = buffered.subarray(0, end).toString();
      buffered = buffered.subarray(end + 1);
      yield JSON.parse(line);
      continue;
    }
    const size = await new Promise<number>((resolve, reject) =>
      read(FD, chunk, 0, chunk.length, null, (err, n) => (err ? reject(err) : resolve(n))),
    );
    if (size === 0) return;
    buffered = Buffer.concat([buffered, chunk.subarray(0, size)]);
  }
}

// biome-ignore lint/suspicious/noExplicitAny: a module may be anything
type Anything = any;

const isDirectory = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory();

function load({ module, source_path }: InitFrame): Promise<Anything> {
  if (source_path === null)
    return import(Bun.resolveSync(module ?? "./plugin", `${process.cwd()}/`));
  if (!isDirectory(source_path)) return import(source_path);
  return import(Bun.resolveSync(`./${module ?? "plugin"}`, `${join(source_path)}/`));
}

/** What runs a task, and what runs a batch of them. */
async function entry(module: Anything, init_kwargs: Record<string, unknown>) {
  const made =
    typeof module.createPlugin === "function"
      ? await module.createPlugin(init_kwargs)
      : typeof module.Plugin === "function"
        ? new module.Plugin(init_kwargs)
        : (module.default ?? module);
  const target = typeof made === "function" ? { run: made } : made;
  const { run } = target;
  const batch = target.run_batch ?? target.runBatch ?? module.run_batch ?? module.runBatch;
  if (typeof run !== "function" && typeof batch !== "function")
    throw new TypeError(
      "the module has no default function, run, run_batch, Plugin or createPlugin",
    );
  const bound = (call: unknown) =>
    typeof call === "function" ? (...args: unknown[]) => call.apply(target, args) : null;
  return { run: bound(run), batch: bound(batch) };
}

let current: AbortController | null = null;
const store = openStore(process.env.FLOTILLA_STORE_URL);

/** For spans of programs that the module starts, and of libraries that look there. */
function tellEnvironment(traceparent: string | null): void {
  for (const name of ["TRACEPARENT", "traceparent"])
    if (traceparent === null) delete process.env[name];
    else process.env[name] = traceparent;
}

function contextOf({ id, epoch, attempt, max_attempts, deadline_ms, traceparent }: TaskFrame) {
  current = new AbortController();
  tellEnvironment(traceparent ?? null);
  return {
    task_id: id,
    epoch,
    attempt,
    max_attempts,
    /** W3C Trace Context of the attempt; null without traces. */
    traceparent: traceparent ?? null,
    deadline: deadline_ms === null ? null : Date.now() + deadline_ms,
    /** Aborts when the task must stop. */
    signal: current.signal,
    /** What the task's plugin stores. */
    ...store,
    /** Reports how far the task is: 0 to 1, and a message for people. */
    progress: (value: number, text = "") =>
      send({ type: "progress", id, value, text: String(text).slice(0, 500) }),
    /** Adds a line to the task's log. Levels: debug, info, warn, error. */
    log: (text: unknown, level = "info") =>
      send({ type: "log", id, level, text: String(text).slice(0, 2_000) }),
  };
}
const taskOf = ({ id, epoch, attempt, pk, extra }: TaskFrame) => ({
  task_id: id,
  epoch,
  attempt,
  pk,
  extra,
});

const printError = (err: unknown) => void process.stderr.write(`${Bun.inspect(err)}\n`);

function fail({ id, epoch }: TaskFrame, err: Anything): void {
  const after = err?.retry_after_ms;
  const asked = typeof after === "number" ? { retry_after_ms: after } : {};
  const never = err?.no_retry === true ? { no_retry: true } : {};
  if (typeof after !== "number" && err?.no_retry !== true) printError(err);
  const message = err instanceof Error ? `${err.name}: ${err.message}` : String(err);
  send({ type: "error", id, epoch, message, ...asked, ...never });
}

function succeed(frame: TaskFrame, output: unknown): void {
  try {
    // JSON.stringify silently leaves these out.
    if (typeof output === "function" || typeof output === "symbol")
      throw new TypeError(`the output is not JSON: it is a ${typeof output}`);
    send({ type: "result", id: frame.id, epoch: frame.epoch, output: output ?? null });
  } catch (err) {
    fail(frame, err);
  }
}

function endStreams(nonce: string): void {
  const mark = Buffer.from(`\x1e${nonce}\n`);
  for (const fd of [1, 2])
    try {
      writeAll(fd, mark);
    } catch {
      // The module closed it; the worker waits a moment and goes on.
    }
}

type Call = (...args: unknown[]) => unknown;

async function runOne(run: Call, frame: TaskFrame): Promise<void> {
  try {
    succeed(frame, await run(taskOf(frame), contextOf(frame)));
  } catch (err) {
    fail(frame, err);
  }
  current = null;
  endStreams(frame.nonce);
}

/** `run_batch(tasks, ctx)` gives outputs in order, at once or as it goes; an Error in place of one fails that task alone. */
async function runMany(batch: Call, items: TaskFrame[]): Promise<void> {
  let done = 0;
  const end = (frame: TaskFrame, output: unknown) => {
    if (output instanceof Error) fail(frame, output);
    else succeed(frame, output);
    endStreams(frame.nonce);
    done += 1;
  };
  try {
    const outputs = await batch(items.map(taskOf), contextOf(items[0] as TaskFrame));
    for await (const output of outputs as AsyncIterable<unknown>) {
      const frame = items[done];
      if (!frame) break;
      end(frame, output);
    }
    if (done < items.length)
      throw new Error(`run_batch gave ${done} outputs for ${items.length} tasks`);
  } catch (err) {
    for (const frame of items.slice(done)) {
      fail(frame, err);
      endStreams(frame.nonce);
    }
  }
  current = null;
}

/** Everything the module prints must be in the pipe before the mark, so nothing may be left to write later. */
function writeAtOnce(stream: NodeJS.WriteStream, fd: number): void {
  stream.write = ((data: string | Uint8Array, encoding?: unknown, done?: unknown) => {
    const as = typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8";
    writeAll(fd, typeof data === "string" ? Buffer.from(data, as) : data);
    const told = typeof encoding === "function" ? encoding : done;
    if (typeof told === "function") queueMicrotask(() => told());
    return true;
  }) as typeof stream.write;
}

async function main(): Promise<void> {
  // Programs that the module starts must not run as Bun just because this process does.
  delete process.env.BUN_BE_BUN;
  process.on("SIGUSR1", () => current?.abort(new Error("the task must stop")));
  writeAtOnce(process.stdout, 1);
  writeAtOnce(process.stderr, 2);
  Bun.plugin({
    name: "flotilla",
    setup: (build) =>
      void build.module("flotilla", () => ({ exports: { RetryLater, NoRetry }, loader: "object" })),
  });
  send({ type: "hello", v: 1, runtime: `bun ${Bun.version}`, pid: process.pid });
  const incoming = frames();
  const init = (await incoming.next()).value as InitFrame;
  let found: Awaited<ReturnType<typeof entry>>;
  try {
    found = await entry(await load(init), init.init_kwargs);
  } catch (err) {
    printError(err);
    return send({ type: "init_error", message: err instanceof Error ? `${err}` : String(err) });
  }
  const { run, batch } = found;
  send({ type: "ready", caps: batch ? ["batch"] : [] });
  for await (const frame of incoming as AsyncGenerator<Incoming>) {
    if (frame.type === "drain") return;
    if (frame.type === "ping") send({ type: "pong" });
    if (frame.type !== "task" && frame.type !== "batch") continue;
    const items = frame.type === "task" ? [frame] : frame.items;
    if (batch && (frame.type === "batch" || !run)) await runMany(batch, items);
    else if (run) for (const item of items) await runOne(run, item);
  }
}

if (import.meta.main) {
  await main();
  process.exit(0);
}

/** The worker imports this file as text; as a module it exports only the name of its protocol. */
// biome-ignore lint/style/noDefaultExport: the type of a text import is its default export
export default "wp-exec/1" as string;
