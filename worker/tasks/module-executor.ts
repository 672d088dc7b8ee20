import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import { newToken } from "#shared/protocol/ids.ts";
import type { Printed } from "./capture.ts";
import { type Child, type Frame, startChild } from "./child.ts";
import { excess, heldBytes, watchMemory, wornAbove } from "./memory.ts";
import { createNotesTaker, type NotesTaker } from "./notes.ts";
import {
  BrokenExecutorError,
  CANCELLED,
  type Executor,
  type FailedOutcome,
  failed,
  type RunOptions,
  type TaskEnd,
  type TaskInput,
  type TaskOutcome,
} from "./types.ts";

export interface ModuleExecutorDeps {
  clock: Clock;
  log: Log;
  /** The program that speaks wp-exec/1, with its arguments. */
  program: string;
  args: string[];
  cwd: string;
  environment: Record<string, string>;
  /** What the child receives first: module, source_path, init_kwargs. */
  init: Record<string, unknown>;
  /** Tasks after which the child is replaced; null: never. */
  recycle_after: number | null;
  /** How much memory the child and all processes below it may hold; null: no limit. */
  memory_bytes: number | null;
}

/** Time to start Python and import a large module. */
const START_MS = 60_000;
/** How long the streams may lag behind the result. */
const MARK_MS = 250;
/** After the deadline: cancel, then SIGINT, then the group is ended. */
/** Measuring a child's memory costs as much as a small task does. */
const LOOK_EVERY_MS = 1_000;
const STEPS = { cancel_ms: 2_000, interrupt_ms: 3_000 };

interface Running {
  task: TaskInput;
  nonce: string;
  /** stdout and stderr. */
  printed: Promise<[Printed, Printed]>;
  answer: PromiseWithResolvers<TaskOutcome>;
  answered: boolean;
  notes: NotesTaker;
}

/** Runs tasks in a warm child process, which is replaced when it has died, hangs or has done its share. */
export function createModuleExecutor(deps: ModuleExecutorDeps): Executor {
  let child: Child | null = null;
  let done = 0;
  /** A child that holds more memory than this is replaced before its next task. */
  let worn_above = Number.POSITIVE_INFINITY;
  let looked_at = 0;
  /** Late output, or a signal on its way, would hit the next task. */
  let unclean = false;
  /** By task id, in the order in which they were sent. */
  const running = new Map<number, Running>();
  let ready: PromiseWithResolvers<void> = Promise.withResolvers();

  /** A batch has one context, that of its first task; its notes count for the task in progress. */
  let batch_head: number | null = null;
  const noteOf = (frame: Frame): NotesTaker | undefined => {
    const id = Number(frame.id);
    if (id !== batch_head) return running.get(id)?.notes;
    return [...running.values()].find((entry) => !entry.answered)?.notes;
  };

  const onFrame = (frame: Frame) => {
    if (frame.type === "ready") return ready.resolve();
    if (frame.type === "init_error") return ready.reject(new Error(String(frame.message)));
    if (frame.type === "progress" || frame.type === "log") return noteOf(frame)?.take(frame);
    const entry = running.get(Number(frame.id));
    if (!entry || frame.epoch !== entry.task.epoch) return;
    entry.answered ||= frame.type === "result" || frame.type === "error";
    if (frame.type === "result") entry.answer.resolve({ kind: "done", output: frame.output });
    if (frame.type === "error")
      entry.answer.resolve(
        failed("error", String(frame.message), {
          retry_after_ms: typeof frame.retry_after_ms === "number" ? frame.retry_after_ms : null,
          no_retry: frame.no_retry === true,
        }),
      );
  };

  const start = async (): Promise<Child> => {
    ready = Promise.withResolvers();
    ready.promise.catch(() => {});
    const { program, args, cwd, environment, clock } = deps;
    const fresh = await startChild({ program, args, cwd, environment, clock, onFrame }).catch(
      (err) => {
        throw new BrokenExecutorError(`${program} cannot be started: ${err.message}`, "");
      },
    );
    fresh.send({ type: "init", ...deps.init });
    const over = new AbortController();
    const late = deps.clock.sleep(START_MS, over.signal).then(() => {
      if (!over.signal.aborted) throw new Error(`it was not ready within ${START_MS / 1_000} s`);
    });
    late.catch(() => {});
    const gone = fresh.exited.then((how) => {
      throw new Error(`it ${how}`);
    });
    gone.catch(() => {});
    const most = deps.memory_bytes;
    const tooMuch = (words: string) => ready.reject(new Error(`it needs ${words}`));
    const { pid } = fresh;
    if (most !== null) void watchMemory({ pid, most, clock, over: over.signal, onExcess: tooMuch });
    try {
      await Promise.race([ready.promise, gone, late]);
      const words = most === null ? null : excess(pid, most);
      if (words !== null) throw new Error(`it needs ${words}`);
    } catch (err) {
      const nonce = newToken();
      const stderr = fresh.stderr.until(nonce);
      await fresh.end({ at_once: true });
      fresh.stderr.giveUp(nonce);
      throw new BrokenExecutorError(
        `the module cannot be loaded: ${(err as Error).message}`,
        (await stderr).text,
      );
    } finally {
      over.abort();
    }
    done = 0;
    unclean = false;
    worn_above = wornAbove(heldBytes(pid) ?? Number.POSITIVE_INFINITY, most);
    looked_at = performance.now();
    return fresh;
  };

  /** Tasks leave things behind: modules they imported, caches, leaks. */
  const isWorn = (on: Child): boolean => {
    if (unclean || (deps.recycle_after !== null && done >= deps.recycle_after)) return true;
    if (performance.now() - looked_at < LOOK_EVERY_MS) return false;
    looked_at = performance.now();
    return (heldBytes(on.pid) ?? 0) > worn_above;
  };

  const replace = async (at_once = true): Promise<void> => {
    const old = child;
    child = null;
    await old?.end({ at_once });
  };

  /** One task of a batch that was sent: its outcome, and what it printed. */
  const follow = async (on: Child, entry: Running, options: RunOptions): Promise<TaskEnd> => {
    const { nonce, printed } = entry;
    const since = performance.now();
    const look = (bytes: number) => ({
      stdout: on.stdout.last(bytes),
      stderr: on.stderr.last(bytes),
    });
    options.onBegin?.(entry.task, look, entry.notes.read);
    const outcome = await decide(on, entry, options);
    const over = new AbortController();
    const late = deps.clock.sleep(MARK_MS, over.signal).then(() => {
      if (over.signal.aborted) return;
      unclean = true;
      on.stdout.giveUp(nonce);
      on.stderr.giveUp(nonce);
    });
    const [out, err] = await printed;
    over.abort();
    await late;
    return {
      task: entry.task,
      outcome,
      duration_ms: Math.round(performance.now() - since),
      stdout: out.text,
      stderr: err.text,
      truncated: out.truncated || err.truncated,
      notes: entry.notes.read(),
    };
  };

  const decide = async (on: Child, entry: Running, options: RunOptions): Promise<TaskOutcome> => {
    const over = new AbortController();
    const { clock } = deps;
    /** Why the task is being stopped, once it is. */
    let stopped: FailedOutcome | null = null;
    const died = Promise.withResolvers<TaskOutcome>();
    const forget = on.onExit((how) => {
      const crashed = failed("crashed", `the task's process ${how}`);
      // Its last frame may still be in the pipe.
      void clock.sleep(MARK_MS / 5, over.signal).then(() => died.resolve(crashed));
    });
    const killed = new Promise<TaskOutcome>((resolve) => {
      const stop = async (why: FailedOutcome) => {
        if (stopped) return;
        stopped = why;
        on.signal("SIGUSR1");
        await clock.sleep(STEPS.cancel_ms, over.signal);
        if (over.signal.aborted) return;
        unclean = true;
        on.signal("SIGINT");
        await clock.sleep(STEPS.interrupt_ms, over.signal);
        if (over.signal.aborted) return;
        await replace();
        resolve(why);
      };
      const { timeout_ms, signal } = options;
      if (deps.memory_bytes !== null)
        void watchMemory({
          ...{ pid: on.pid, most: deps.memory_bytes, clock, over: over.signal },
          onExcess: (words) => {
            const why = stopped ?? failed("crashed", `the task's process used ${words}`);
            stopped = why;
            void replace().then(() => resolve(why));
          },
        });
      if (timeout_ms !== null)
        void clock.sleep(timeout_ms, over.signal).then(() => {
          if (over.signal.aborted) return;
          return stop(failed("timeout", `the task did not end within ${timeout_ms / 1_000} s`));
        });
      const cancelled = () => void stop(failed("error", CANCELLED));
      if (signal.aborted) cancelled();
      else signal.addEventListener("abort", cancelled, { once: true, signal: over.signal });
    });
    try {
      const outcome = await Promise.race([entry.answer.promise, died.promise, killed]);
      return judge(outcome, stopped);
    } finally {
      over.abort();
      forget();
    }
  };

  const runSent = async (
    on: Child,
    tasks: readonly TaskInput[],
    options: RunOptions,
  ): Promise<number> => {
    const frames = tasks.map((task) => {
      const nonce = newToken().slice(0, 16);
      running.set(task.task_id, {
        ...{ task, nonce, answered: false },
        // All at once: a batch may print faster than its results are dealt with.
        printed: Promise.all([on.stdout.until(nonce), on.stderr.until(nonce)]),
        answer: Promise.withResolvers<TaskOutcome>(),
        notes: createNotesTaker(),
      });
      return {
        ...{ type: "task", id: task.task_id, epoch: task.epoch, attempt: task.attempt },
        ...{ max_attempts: task.max_attempts, pk: task.pk, extra: task.extra },
        ...{ nonce, deadline_ms: options.timeout_ms },
      };
    });
    const [only] = frames;
    batch_head = frames.length === 1 ? null : (only?.id ?? null);
    on.send(frames.length === 1 && only ? only : { type: "batch", items: frames });
    for (const [i, task] of tasks.entries()) {
      const entry = running.get(task.task_id) as Running;
      const end = await follow(on, entry, options);
      running.delete(task.task_id);
      done += 1;
      options.onEnd(end);
      // Later tasks without an answer never ran, so they go to the next child.
      const next = tasks[i + 1];
      const over = !on.alive || child !== on;
      if (over && !(next && running.get(next.task_id)?.answered)) return i + 1;
    }
    return tasks.length;
  };

  return {
    run: async (tasks, options) => {
      for (let rest = tasks; rest.length > 0; ) {
        if (options.signal.aborted) {
          for (const task of rest) options.onEnd(notRun(task, "the worker is stopping"));
          return;
        }
        if (child && !child.alive) await replace();
        if (child && isWorn(child)) await replace(unclean);
        try {
          child ??= await start();
        } catch (err) {
          if (!(err instanceof BrokenExecutorError)) throw err;
          deps.log.error({ err: err.message }, "executor is broken");
          for (const task of rest)
            options.onEnd({ ...notRun(task, err.message, true), stderr: err.stderr });
          return;
        }
        rest = rest.slice(await runSent(child, rest, options));
        running.clear();
      }
    },
    load: async () => {
      child ??= await start();
    },
    close: () => replace(false),
  };
}

/** The outcome of a task that was being stopped. */
function judge(outcome: TaskOutcome, stopped: FailedOutcome | null): TaskOutcome {
  // Its time was over, whatever it did in the moments it had to stop.
  if (stopped?.outcome === "timeout") return stopped;
  // A task that succeeded although it was told to stop has succeeded; a failure only shows how it stopped.
  return outcome.kind === "done" ? outcome : (stopped ?? outcome);
}

const notRun = (task: TaskInput, reason: string, broken = false): TaskEnd => ({
  task,
  outcome: { kind: "not_run", reason, broken },
  duration_ms: 0,
  stdout: "",
  stderr: "",
  truncated: false,
});
