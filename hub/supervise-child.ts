import type { Clock } from "#shared/clock.ts";
import { withDeadline } from "#shared/clock.ts";
import type { Log } from "#shared/log.ts";
import { EXIT } from "./cli/exit.ts";

const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 30_000;
/** A child that lived so long starts again without a wait. */
const HEALTHY_MS = 60_000;
/** A drain of the child may take this long before it is killed; below the parent's own stop deadline. */
const TERM_DEADLINE_MS = 45_000;
/** Fleet spec §3.5: the child updated its sources and asks to be started again. */
const RESTART_ME = 42;

export interface ChildOptions {
  name: string;
  argv: string[];
  env: Record<string, string | undefined>;
  log: Log;
  clock: Clock;
  /** Exit codes that a restart would not mend: the child's own message was printed, it stays down. */
  giveUpOn?: readonly number[];
}

export interface SupervisedChild {
  /** Of the running child, null between two. */
  readonly pid: number | null;
  /** The exit code it was given up with; pending while it is kept alive. */
  readonly gaveUp: Promise<number>;
  /** SIGTERM, then SIGKILL; waits for the end. Idempotent. */
  stop(): Promise<void>;
}

/** The wait before the next start, doubling while the child keeps dying young. */
export const nextBackoff = (previous_ms: number, lived_ms: number): number =>
  lived_ms >= HEALTHY_MS || previous_ms === 0
    ? FIRST_BACKOFF_MS
    : Math.min(previous_ms * 2, MAX_BACKOFF_MS);

/**
 * Keeps a child process running. The child is in a group of its own, so that Ctrl-C in a terminal reaches only the
 * parent, and its standard input is a pipe nobody writes to: when the parent dies in whatever way, the kernel closes
 * it and the child, started with --exit-on-stdin-close, drains.
 */
export function superviseChild(options: ChildOptions): SupervisedChild {
  const { name, log, clock } = options;
  const stopping = new AbortController();
  let child: ReturnType<typeof start> | null = null;
  let gaveUp: (code: number) => void = () => {};
  const gaveUpPromise = new Promise<number>((resolve) => {
    gaveUp = resolve;
  });

  function start() {
    return Bun.spawn(options.argv, {
      env: options.env,
      stdin: "pipe",
      stdout: "inherit",
      stderr: "inherit",
      detached: true,
    });
  }

  const loop = (async () => {
    let backoff = 0;
    while (!stopping.signal.aborted) {
      const started = clock.now();
      child = start();
      log.info({ child: name, pid: child.pid }, "child started");
      const code = await child.exited;
      child = null;
      if (stopping.signal.aborted) return;
      if ((options.giveUpOn ?? [EXIT.usage, EXIT.missing_program]).includes(code)) {
        log.error({ child: name, code }, "child cannot run, not started again");
        return gaveUp(code);
      }
      backoff = code === RESTART_ME ? 0 : nextBackoff(backoff, clock.now() - started);
      log.warn({ child: name, code, retry_ms: backoff }, "child ended");
      await clock.sleep(backoff, stopping.signal);
    }
  })();

  let stopped: Promise<void> | undefined;
  const stop = async () => {
    stopping.abort();
    const running = child;
    if (running) {
      running.kill("SIGTERM");
      await withDeadline(name, TERM_DEADLINE_MS, running.exited).catch(() =>
        running.kill("SIGKILL"),
      );
    }
    await loop;
  };
  return {
    get pid() {
      return child?.pid ?? null;
    },
    gaveUp: gaveUpPromise,
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
  };
}
