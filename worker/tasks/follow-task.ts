import type { Clock } from "#shared/kit/clock.ts";
import {
  CANCELLED,
  type FailedOutcome,
  failed,
  overTime,
  type RunOptions,
  type TaskEnd,
  type TaskOutcome,
} from "./executor.ts";
import { watchMemory } from "./memory.ts";
import type { SentTask } from "./sent-tasks.ts";
import type { WarmChild } from "./warm-child.ts";

/** How long the streams may lag behind the result. */
const MARK_MS = 250;
/** After the deadline: cancel, then SIGINT, then the group is ended. */
const STEPS = { cancel_ms: 2_000, interrupt_ms: 3_000 };

export interface FollowDeps {
  clock: Clock;
  memory_bytes: number | null;
  /** Ends the child and all that it started. */
  end(): Promise<void>;
}

/** Follows a task that was sent to its end: its outcome, and what it printed. */
export async function followTask(
  on: WarmChild,
  sent: SentTask,
  options: RunOptions,
  deps: FollowDeps,
): Promise<TaskEnd> {
  const { task, nonce, printed, notes } = sent;
  const { stdout, stderr } = on.process;
  const since = performance.now();
  const look = (bytes: number) => ({ stdout: stdout.last(bytes), stderr: stderr.last(bytes) });
  options.onBegin?.(task, look, notes.read);
  const outcome = await decide(on, sent, options, deps);
  const over = new AbortController();
  const late = deps.clock.sleep(MARK_MS, over.signal).then(() => {
    if (over.signal.aborted) return;
    on.soil();
    stdout.giveUp(nonce);
    stderr.giveUp(nonce);
  });
  const [out, err] = await printed;
  over.abort();
  await late;
  return {
    task,
    outcome,
    duration_ms: Math.round(performance.now() - since),
    stdout: out.text,
    stderr: err.text,
    truncated: out.truncated || err.truncated,
    notes: notes.read(),
  };
}

/** What the task answers, or why it ended without an answer. */
async function decide(
  on: WarmChild,
  sent: SentTask,
  options: RunOptions,
  deps: FollowDeps,
): Promise<TaskOutcome> {
  const over = new AbortController();
  const died = Promise.withResolvers<TaskOutcome>();
  const forget = on.process.onExit((how) => {
    const crashed = failed("crashed", `the task's process ${how}`);
    // Its last frame may still be in the pipe.
    void deps.clock.sleep(MARK_MS / 5, over.signal).then(() => died.resolve(crashed));
  });
  const stop = stopWhenDue(on, options, deps, over.signal);
  try {
    const outcome = await Promise.race([sent.answer.promise, died.promise, stop.killed]);
    return judge(outcome, stop.reason());
  } finally {
    over.abort();
    forget();
  }
}

/**
 * Stops the task when its time is over, when it is cancelled, or when it holds too much memory.
 * @param over aborts when the task has ended
 */
function stopWhenDue(
  on: WarmChild,
  { timeout_ms, signal }: RunOptions,
  { clock, memory_bytes, end }: FollowDeps,
  over: AbortSignal,
) {
  /** Why the task is being stopped, once it is. */
  let reason: FailedOutcome | null = null;
  const killed = Promise.withResolvers<TaskOutcome>();
  const stop = async (why: FailedOutcome) => {
    if (reason) return;
    reason = why;
    on.process.signal("SIGUSR1");
    await clock.sleep(STEPS.cancel_ms, over);
    if (over.aborted) return;
    on.soil();
    on.process.signal("SIGINT");
    await clock.sleep(STEPS.interrupt_ms, over);
    if (over.aborted) return;
    await end();
    killed.resolve(why);
  };
  const onExcess = (words: string) => {
    const why = reason ?? failed("crashed", `the task's process used ${words}`);
    reason = why;
    void end().then(() => killed.resolve(why));
  };
  if (memory_bytes !== null)
    void watchMemory({ pid: on.process.pid, most: memory_bytes, clock, over, onExcess });
  if (timeout_ms !== null)
    void clock.sleep(timeout_ms, over).then(() => {
      if (over.aborted) return;
      return stop(overTime("the task", timeout_ms));
    });
  const cancelled = () => void stop(failed("error", CANCELLED));
  if (signal.aborted) cancelled();
  else signal.addEventListener("abort", cancelled, { once: true, signal: over });
  return { killed: killed.promise, reason: () => reason };
}

/** The outcome of a task that was being stopped. */
function judge(outcome: TaskOutcome, stopped: FailedOutcome | null): TaskOutcome {
  // Its time was over, whatever it did in the moments it had to stop.
  if (stopped?.outcome === "timeout") return stopped;
  // A task that succeeded although it should stop has succeeded; a failure only shows how it stopped.
  return outcome.kind === "done" ? outcome : (stopped ?? outcome);
}
