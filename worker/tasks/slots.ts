import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import type { Tracer } from "#shared/kit/tracing/tracer.ts";
import { EXECUTORS } from "#shared/protocol/executors.ts";
import type { ClaimedBatch, WorkloadSettings } from "#shared/protocol/schema/pull.ts";
import { type Executor, notRun, type RunOptions, type TaskEnd } from "./executor.ts";
import type { ExecutorPool } from "./executor-pool.ts";
import type { Flight } from "./flight.ts";
import { createTaskTraces, type TaskTraces } from "./task-traces.ts";

/** What happens to the tasks of a slot. */
interface SlotEvents {
  /** A batch begins. */
  onBatch(batch: ClaimedBatch): void;
  onBegin(batch: ClaimedBatch, ...begun: Parameters<NonNullable<RunOptions["onBegin"]>>): void;
  onEnd(batch: ClaimedBatch, ended: TaskEnd): void;
  /** A batch is over. */
  onFree(): void;
}

export interface SlotsDeps extends SlotEvents {
  most: number;
  flight: Flight;
  pool: ExecutorPool;
  /** What is known about a workload; undefined if the control plane has not sent it. */
  settingsOf(workload: string): WorkloadSettings | undefined;
  /** From here on batches are given back instead of started. */
  stopping: AbortSignal;
  tracer?: Tracer | undefined;
  log: Log;
}

/** The slots of a worker. Each runs one batch at a time. */
export interface Slots {
  /** Slots without a batch and without a claim under way. */
  free(): number;
  /** A claim for `n` batches leaves: no other claim may use their slots. */
  hold(n: number): void;
  /** `n` of the slots held for a claim are not needed. */
  release(n: number): void;
  /** Runs a batch in a slot that was held for it; its leases count from `asked_at`, when the claim left. */
  begin(batch: ClaimedBatch, asked_at: number): void;
  /** Whether a batch runs. */
  busy(): boolean;
  /** Resolves when every batch that runs now is over. */
  idle(): Promise<unknown>;
}

type Stops = ReadonlyMap<number, AbortController>;

export function createSlots(given: SlotsDeps): Slots {
  const traces = createTaskTraces(given.tracer);
  const deps = traces === null ? given : tracedEnds(given, traces);
  const { flight, log } = deps;
  let free = deps.most;
  const running = new Set<Promise<void>>();

  const giveBack = (batch: ClaimedBatch, reason: string, broken = false) => {
    log.warn({ workload: batch.workload, reason }, "gave tasks back");
    for (const task of batch.tasks) deps.onEnd(batch, notRun(task, reason, broken));
  };
  const run = async (batch: ClaimedBatch, stops: Stops): Promise<void> => {
    const workload = deps.settingsOf(batch.workload);
    if (deps.stopping.aborted) return giveBack(batch, "the worker is stopping");
    if (!workload) return giveBack(batch, "its settings are not known");
    const executor = await deps.pool.take(workload).catch((err) => {
      giveBack(batch, errorMessage(err), true);
      return null;
    });
    if (!executor) return;
    await runTasks(executor, workload, batch, stops, deps).catch(async (err) => {
      await executor.close();
      throw err;
    });
    await deps.pool.give(workload, executor);
  };
  return {
    free: () => free,
    hold: (n) => {
      free -= n;
    },
    release: (n) => {
      free += n;
    },
    begin: (claimed, asked_at) => {
      const batch = traces?.begin(claimed) ?? claimed;
      const stops = new Map<number, AbortController>();
      for (const task of batch.tasks) {
        const stop = new AbortController();
        stops.set(task.task_id, stop);
        flight.add(task, batch.workload, batch.lease_ms, asked_at, stop);
      }
      deps.onBatch(batch);
      const work = run(batch, stops)
        .catch((err) => {
          log.error({ err, workload: batch.workload }, "a batch broke");
          // Kept in flight, they would be renewed forever.
          for (const task of batch.tasks) deps.onEnd(batch, notRun(task, errorMessage(err), true));
        })
        .finally(() => {
          running.delete(work);
          free += 1;
          deps.onFree();
        });
      running.add(work);
    },
    busy: () => running.size > 0,
    idle: () => Promise.all(running),
  };
}

const tracedEnds = (deps: SlotsDeps, traces: TaskTraces): SlotsDeps => ({
  ...deps,
  onEnd: (batch, ended) => {
    traces.end(ended);
    deps.onEnd(batch, ended);
  },
});

/** Runs the tasks of a batch as its executor needs them: all in one go, one after the other, or side by side. */
async function runTasks(
  executor: Executor,
  workload: WorkloadSettings,
  batch: ClaimedBatch,
  stops: Stops,
  events: SlotEvents,
): Promise<void> {
  const options = {
    timeout_ms: batch.timeout_ms,
    onBegin: (...begun: Parameters<NonNullable<RunOptions["onBegin"]>>) =>
      events.onBegin(batch, ...begun),
    onEnd: (ended: TaskEnd) => events.onEnd(batch, ended),
  };
  // One task that is lost must not stop its neighbours, so each is run under its own signal.
  const runAlone = (task: ClaimedBatch["tasks"][number]) => {
    const { signal } = stops.get(task.task_id) as AbortController;
    return executor.run([task], { ...options, signal });
  };
  const { concurrency } = EXECUTORS[workload.executor_type];
  if (concurrency === "side_by_side") await Promise.all(batch.tasks.map(runAlone));
  else if (concurrency === "one_by_one" || batch.tasks.length === 1)
    for (const task of batch.tasks) await runAlone(task);
  else {
    const signal = AbortSignal.any([...stops.values()].map((stop) => stop.signal));
    await executor.run(batch.tasks, { ...options, signal });
  }
}
