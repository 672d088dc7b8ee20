import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import { startLoop } from "#shared/kit/loop.ts";

/** sysexits EX_SOFTWARE: the supervisor starts the worker again. */
export const EXIT_WATCHDOG = 70;
/** Both watchdogs check this often, or more often when their threshold is shorter (rules/workers#stall-watchdog). */
const CHECK_MS = 30_000;
const checkEvery = (threshold_ms: number) => Math.min(CHECK_MS, Math.max(1, threshold_ms / 4));
const BEAT_MS = 1_000;

export interface Watchdog {
  /** Idempotent. */
  stop(): Promise<void>;
}

/**
 * Runs in a thread of its own, because the event loop it watches cannot run anything while it is stalled. Kept as text
 * so that the compiled binary needs no second entry point. A thread's process.exit ends only the thread in Bun, and
 * process 1 of a container cannot be killed from inside, so `_exit` of the C library comes first.
 * Time is the thread's own monotonic clock: neither a stepped wall clock nor a suspended machine looks like a stall.
 */
const THREAD = `
const { writeSync } = require("node:fs");
const end = (code) => {
  for (const lib of ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1", "libSystem.B.dylib"])
    try {
      require("bun:ffi").dlopen(lib, { _exit: { args: ["int"], returns: "void" } }).symbols._exit(code);
    } catch {}
  process.kill(process.pid, "SIGKILL");
  process.abort();
};
self.onmessage = ({ data }) => {
  const shared = new Int32Array(data.shared);
  const beat = () => Atomics.load(shared, 0);
  const stopped = (ms) => Atomics.wait(shared, 1, 0, ms) !== "timed-out";
  let seen = beat();
  let since = performance.now();
  while (!stopped(data.check_ms)) {
    if (beat() !== seen) {
      seen = beat();
      since = performance.now();
    } else if (performance.now() - since >= data.threshold_ms) {
      if (stopped(Math.random() * data.jitter_ms)) break;
      if (beat() !== seen) continue;
      const stalled_ms = Math.round(performance.now() - since);
      try {
        writeSync(2, JSON.stringify({ ts: new Date().toISOString(), level: "error",
          message: "event loop stalled, worker exits", stalled_ms, code: data.code }) + "\\n");
      } catch {}
      end(data.code);
    }
  }
  postMessage("stopped");
};
`;

/**
 * Ends the process with `EXIT_WATCHDOG` when the event loop stood still for `threshold_ms` (rules/workers#stall-watchdog,
 * default 300 s, checked every 30 s), after a random 0–`jitter_ms` so that a fleet does not restart in step. A loop
 * that recovered meanwhile is left alone.
 */
export function startStallWatchdog(deps: {
  threshold_ms: number;
  jitter_ms: number;
  clock: Clock;
  log: Log;
}): Watchdog {
  const shared = new Int32Array(new SharedArrayBuffer(8));
  const url = URL.createObjectURL(new Blob([THREAD], { type: "application/javascript" }));
  const thread = new Worker(url, { smol: true });
  const ended = new Promise<void>((resolve) => {
    thread.addEventListener("message", () => resolve());
    thread.addEventListener("error", (event) => {
      deps.log.error({ err: event.message }, "stall watchdog ended");
      resolve();
    });
  });
  thread.postMessage({
    shared: shared.buffer,
    check_ms: checkEvery(deps.threshold_ms),
    threshold_ms: deps.threshold_ms,
    jitter_ms: deps.jitter_ms,
    code: EXIT_WATCHDOG,
  });
  const beats = startLoop({
    name: "watchdog-beat",
    everyMs: Math.min(BEAT_MS, checkEvery(deps.threshold_ms)),
    clock: deps.clock,
    log: deps.log,
    pass: async () => {
      Atomics.add(shared, 0, 1);
    },
  });
  let stopping: Promise<void> | undefined;
  const stop = async () => {
    await beats.stop();
    Atomics.store(shared, 1, 1);
    Atomics.notify(shared, 1);
    await ended;
    thread.terminate();
    URL.revokeObjectURL(url);
  };
  return {
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}

/**
 * Calls `expire` once when a standing link brought nothing for `threshold_ms` (rules/workers#silence-watchdog, default 600 s;
 * 0 disables). Silence must be seen in two consecutive checks: a stepped wall clock shows in one only.
 */
export function startLinkWatchdog(deps: {
  threshold_ms: number;
  clock: Clock;
  log: Log;
  /** Wall clock of the last frame from the hub; null while no link stands. */
  lastReceivedAt(): number | null;
  expire(): void;
}): Watchdog {
  if (deps.threshold_ms === 0) return { stop: async () => {} };
  let suspected: number | null = null;
  let expired = false;
  return startLoop({
    name: "watchdog-link",
    everyMs: checkEvery(deps.threshold_ms),
    clock: deps.clock,
    log: deps.log,
    pass: async () => {
      const at = deps.lastReceivedAt();
      const silent_ms = at === null ? 0 : deps.clock.monotonic() - at;
      const again = suspected !== null && suspected === at;
      suspected = silent_ms >= deps.threshold_ms ? at : null;
      if (suspected === null || !again || expired) return;
      expired = true;
      deps.log.error({ silent_ms }, "nothing received from the hub, worker exits");
      deps.expire();
    },
  });
}
