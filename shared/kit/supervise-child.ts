import { errorMessage } from "#shared/kit/errors.ts";
import { type Clock, withDeadline } from "./clock.ts";
import type { Log } from "./log.ts";
import { signalGroup } from "./signal-group.ts";

const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 30_000;
/** A child that lived this long is restarted without a wait. */
const HEALTHY_MS = 60_000;
/** A drain of the child may take this long before it is killed; below the parent's own stop deadline. */
const TERM_DEADLINE_MS = 45_000;
/** The child updated its sources and asks to be restarted (rules/updates#exit-42). */
const RESTART_ME = 42;
/** Exit codes of this program that no restart can fix: a wrong command line, a missing program. */
const HOPELESS = [2, 3];
/** As shells report it: the program could not be started. */
const NOT_STARTED = 127;

export interface ChildOptions {
  name: string;
  argv: string[];
  env: Record<string, string | undefined>;
  log: Log;
  clock: Clock;
  /** Exit codes that a restart would not fix: the child has printed its own message, and stays down. */
  giveUpOn?: readonly number[];
  /** How long a drain may take before the whole group is killed. */
  termDeadlineMs?: number;
  /** Called at every change of `view`. */
  onChange?: () => void;
}

/** A child as its parent sees it. Times epoch ms. */
interface ChildView {
  state: "starting" | "running" | "backoff" | "stopping" | "exited";
  pid: number | null;
  /** Start of the running process, or of the last one. */
  started_at: number | null;
  /** Exit code of the last process that ended; 128 plus the number of the signal that killed it. */
  exit_code: number | null;
  /** Starts after the first. */
  restarts: number;
}

export interface SupervisedChild {
  /** Process id of the running child, null between two. */
  readonly pid: number | null;
  readonly view: ChildView;
  /** The exit code after which the parent gave up; pending while the child is kept alive. */
  readonly gaveUp: Promise<number>;
  /** Signals the running child, if there is one. */
  signal(name: NodeJS.Signals): void;
  /** SIGTERM, then SIGKILL to its group; waits for the end. Idempotent. */
  stop(): Promise<void>;
}

/** The wait before the next start, doubling while the child keeps dying young. */
export const nextBackoff = (previous_ms: number, lived_ms: number): number =>
  lived_ms >= HEALTHY_MS || previous_ms === 0
    ? FIRST_BACKOFF_MS
    : Math.min(previous_ms * 2, MAX_BACKOFF_MS);

const spawnChild = ({ argv, env }: ChildOptions) =>
  Bun.spawn(argv, {
    env,
    stdin: "pipe",
    stdout: "inherit",
    stderr: "inherit",
    detached: true,
  });
type Child = ReturnType<typeof spawnChild>;

/** Runs it once and returns its exit code. */
async function runChild(
  options: ChildOptions,
  told: { began(child: Child): void; ended(): void },
): Promise<number> {
  const { name, log } = options;
  let child: Child;
  try {
    child = spawnChild(options);
  } catch (err) {
    log.error({ child: name, err: errorMessage(err) }, "could not start a child");
    return NOT_STARTED;
  }
  const { pid } = child;
  log.info({ child: name, pid }, "child started");
  told.began(child);
  const code = await child.exited;
  told.ended();
  // Kill what it left behind in its group; while any of that lives, no other process can get the number.
  signalGroup(pid, "SIGKILL");
  return code;
}

/**
 * Keeps a child process running. The child leads its own group, so that Ctrl-C in a terminal reaches only the
 * parent and what the child leaves behind can be killed. Its standard input is a pipe that nobody writes to: however
 * the parent dies, the kernel closes it and the child, started with --exit-on-stdin-close, drains.
 */
export function superviseChild(options: ChildOptions): SupervisedChild {
  const { name, log, clock } = options;
  const stopping = new AbortController();
  const gaveUp = Promise.withResolvers<number>();
  let child: Child | null = null;
  let view: ChildView = {
    state: "starting",
    pid: null,
    started_at: null,
    exit_code: null,
    restarts: 0,
  };
  const show = (change: Partial<ChildView>) => {
    view = { ...view, ...change };
    options.onChange?.();
  };

  const runOnce = () =>
    runChild(options, {
      began: (started) => {
        child = started;
        show({ state: "running", pid: started.pid, started_at: clock.now() });
      },
      ended: () => {
        child = null;
      },
    });

  const loop = (async () => {
    let backoff = 0;
    while (!stopping.signal.aborted) {
      const started = clock.monotonic();
      const code = await runOnce();
      const gone = { pid: null, exit_code: code };
      if (stopping.signal.aborted) return show(gone);
      if ((options.giveUpOn ?? HOPELESS).includes(code)) {
        log.error({ child: name, code }, "child cannot run and is not restarted");
        show({ ...gone, state: "exited" });
        return gaveUp.resolve(code);
      }
      backoff = code === RESTART_ME ? 0 : nextBackoff(backoff, clock.monotonic() - started);
      log.warn({ child: name, code, retry_ms: backoff }, "child ended");
      show({ ...gone, state: "backoff" });
      await clock.sleep(backoff, stopping.signal);
      if (!stopping.signal.aborted) show({ restarts: view.restarts + 1 });
    }
  })();

  let stopped: Promise<void> | undefined;
  const stop = async () => {
    stopping.abort();
    const running = child;
    if (running) {
      show({ state: "stopping" });
      running.kill("SIGTERM");
      const limit = options.termDeadlineMs ?? TERM_DEADLINE_MS;
      await withDeadline(name, limit, running.exited, clock).catch(() => {
        log.warn({ child: name, limit_ms: limit }, "child did not stop in time and was killed");
        signalGroup(running.pid, "SIGKILL");
      });
    }
    await loop;
    show({ state: "exited" });
  };
  return {
    get pid() {
      return child?.pid ?? null;
    },
    get view() {
      return view;
    },
    gaveUp: gaveUp.promise,
    signal: (name) => void child?.kill(name),
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
  };
}
