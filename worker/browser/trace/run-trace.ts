import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { BrowserContext } from "playwright-core";
import { windUpWithin } from "#shared/kit/call-within.ts";
import { type Clock, withDeadline } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { TRACE_LIMITS } from "#shared/protocol/limits.ts";
import { maskTrace } from "./mask-trace.ts";

/** How long Playwright may take to begin, and to write what it has. */
const BEGIN_MS = 10_000;
const STOP_MS = 20_000;
const MASK_MS = 60_000;
const TRACED = { screenshots: true, snapshots: true };
/** How often its size is looked at. */
const LOOK_MS = 2_000;

/** A finished trace on this worker's disk; whoever takes it removes the file. */
interface TraceFile {
  path: string;
  size: number;
  sha256: string;
  /** What there is to say about it, or null: it was cut at a limit, or begins late. */
  note: string | null;
}

/** What Playwright traces of one run (rules/traces). Nothing that it does fails the run, and no call rejects. */
export interface RunTrace {
  readonly of: "job" | "session";
  /** Where Playwright puts its files while it traces. */
  readonly dir: string;
  /** Values that the trace must not show. */
  know(secrets: Iterable<unknown>): void;
  /** Traces the browser that Playwright has connected to; what came before on another connection is lost. */
  begin(context: BrowserContext): Promise<void>;
  /** Begins anew: of several attempts, the last one is kept. */
  again(): Promise<void>;
  /** Ends it. Idempotent. @returns the masked trace, or why there is none */
  end(): Promise<TraceFile | string>;
}

interface TraceDeps {
  of: RunTrace["of"];
  /** For this run's files alone. */
  dir: string;
  /** Where the masked trace is to lie. */
  out: string;
  clock: Clock;
  /** It has come to its limit, in words: what follows is not traced. */
  onLimit(limit: string): void;
}

export function createRunTrace({ of: owner, dir, out, clock, onLimit }: TraceDeps): RunTrace {
  const raw = join(dir, "raw.zip");
  const within = deadlinesBy(clock);
  const secrets = new Set<string>();
  let context: BrowserContext | null = null;
  let note: string | null = null;
  let failed: string | null = null;
  /** What is being done with Playwright: one thing at a time. */
  let turn: Promise<unknown> = Promise.resolve();
  let watch = new AbortController();
  let ended: Promise<TraceFile | string> | null = null;
  let written = false;

  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const done = turn.then(work).catch((err) => {
      failed = errorMessage(err).split("\n")[0] ?? "";
      context = null;
    });
    turn = done;
    return done;
  };
  /** Writes what there is, and traces no more. */
  const stop = async (): Promise<void> => {
    watch.abort();
    if (!context) return;
    const { tracing } = context;
    context = null;
    await within("the end of the trace", STOP_MS, tracing.stop({ path: raw }));
    written = true;
  };
  const start = async (of: BrowserContext): Promise<void> => {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    await within("the beginning of the trace", BEGIN_MS, of.tracing.start(TRACED));
    context = of;
    failed = null;
    watch.abort();
    watch = new AbortController();
    void limitOf({ dir, clock }, watch.signal).then((limit) => {
      if (limit === null) return;
      note = limit;
      onLimit(limit);
      void inTurn(stop);
    });
  };
  const finish = async (): Promise<TraceFile | string> => {
    await inTurn(stop);
    try {
      if (!written) return failed ?? "Playwright was never connected to its browser";
      const size = await masked(clock, { from: raw, to: out }, secrets);
      return { path: out, size, sha256: await sha256Of(out), note };
    } catch (err) {
      await rm(out, { force: true }).catch(() => {});
      return errorMessage(err);
    } finally {
      await rm(dir, { recursive: true, force: true }).catch(() => {});
    }
  };
  return {
    of: owner,
    dir,
    know: (values) => {
      for (const value of values) if (typeof value === "string" && value !== "") secrets.add(value);
    },
    begin: (of) =>
      inTurn(async () => {
        if (ended !== null || written) return;
        if (context) note = "it begins where the browser was connected to again";
        await start(of);
      }),
    again: () =>
      inTurn(async () => {
        if (ended !== null || context === null) return;
        await within("the beginning of the trace", BEGIN_MS, context.tracing.startChunk());
      }),
    end: () => {
      ended ??= finish();
      return ended;
    },
  };
}

const masked = (
  clock: Clock,
  files: { from: string; to: string },
  secrets: ReadonlySet<string>,
): Promise<number> =>
  windUpWithin(clock, { what: "masking the trace", ms: MASK_MS }, (signal) =>
    maskTrace(files, [...secrets], signal),
  );

const deadlinesBy =
  (clock: Clock) =>
  (what: string, ms: number, work: Promise<unknown>): Promise<unknown> =>
    withDeadline(what, ms, work, clock);

async function sha256Of(path: string): Promise<string> {
  const hasher = new Bun.CryptoHasher("sha256");
  for await (const chunk of Bun.file(path).stream()) hasher.update(chunk);
  return hasher.digest("hex");
}

/** The limit that a trace has come to, in words; null once it is over. */
async function limitOf(
  { dir, clock }: Pick<TraceDeps, "dir" | "clock">,
  over: AbortSignal,
): Promise<string | null> {
  const { max_ms, max_bytes } = TRACE_LIMITS;
  const until = clock.monotonic() + max_ms;
  for (;;) {
    await clock.sleep(LOOK_MS, over);
    if (over.aborted) return null;
    if (clock.monotonic() >= until) return `it ends after ${max_ms / 60_000} minutes`;
    if ((await sizeOf(dir)) >= max_bytes)
      return `it ends where it had ${max_bytes / 1024 ** 2} MiB`;
  }
}

/** Bytes of the files in a directory and below; those that vanish meanwhile count nothing. */
async function sizeOf(dir: string): Promise<number> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true }).catch(() => []);
  let bytes = 0;
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const found = await stat(join(entry.parentPath, entry.name)).catch(() => null);
    bytes += found?.size ?? 0;
  }
  return bytes;
}
