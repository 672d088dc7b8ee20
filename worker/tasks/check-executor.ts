import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import {
  type CheckAnswer,
  type CheckRun,
  MAX_BROKEN_ERROR,
  MAX_BROKEN_TRACE,
} from "#shared/protocol/schema/executor.ts";
import type { WaitingCheck, WorkloadSettings } from "#shared/protocol/schema/pull.ts";
import { runCheckTask } from "./check-run.ts";
import { BrokenExecutorError, type Executor } from "./executor.ts";

/** How many ids of checks are remembered: every heartbeat repeats a check until it is answered. */
const REMEMBERED = 100;

export interface CheckerDeps {
  /** Creates a separate executor: one that a slot uses is not touched. */
  create(workload: WorkloadSettings): Promise<Executor>;
  answer(found: CheckAnswer): Promise<void>;
  /** Called with the result before it is sent. */
  onFound(workload: WorkloadSettings, broken: { error: string; trace: string } | null): void;
  /** Ends the tasks of tests. */
  stopping: AbortSignal;
  log: Log;
}

/** Loads the code of workloads on request, runs one task with it if that is asked for, and answers what it found. */
export function createChecker({ create, answer, onFound, stopping, log }: CheckerDeps) {
  const begun: string[] = [];
  const running = new Set<Promise<void>>();

  /** What became of the task; null without one. @throws when the code does not load */
  const load = async (one: WaitingCheck): Promise<CheckRun | null> => {
    const executor = await create(one.workload);
    try {
      await executor.load();
      return one.task ? await runCheckTask(executor, one.task, one.timeout_ms, stopping) : null;
    } finally {
      await executor.close();
    }
  };
  const check = async (one: WaitingCheck): Promise<void> => {
    const { check_id, workload, draft, task } = one;
    const since = performance.now();
    const found = await load(one).then(
      (run) => ({ run, broken: null }),
      (err) => ({
        run: null,
        broken: {
          error: errorMessage(err).slice(0, MAX_BROKEN_ERROR),
          trace: err instanceof BrokenExecutorError ? err.stderr.slice(-MAX_BROKEN_TRACE) : "",
        },
      }),
    );
    const { run, broken } = found;
    // What nobody has saved says nothing about the workload.
    if (!draft) onFound(workload, broken);
    await answer({
      check_id,
      revision: workload.revision,
      state: broken ? "broken" : "ok",
      error: broken?.error ?? null,
      trace: broken?.trace ?? null,
      ms: Math.round(performance.now() - since) - (run?.duration_ms ?? 0),
      // A control plane that asks for no task does not know the field.
      ...(task ? { run } : {}),
    });
  };
  return {
    /** Begins the checks that were not seen before. */
    begin: (checks: readonly WaitingCheck[]): void => {
      for (const one of checks) {
        if (begun.includes(one.check_id)) continue;
        begun.push(one.check_id);
        if (begun.length > REMEMBERED) begun.shift();
        const work = check(one)
          .catch((err) => {
            const { slug } = one.workload;
            log.warn({ err: errorMessage(err), workload: slug }, "could not answer a check");
          })
          .finally(() => running.delete(work));
        running.add(work);
      }
    },
    /** Resolves when no check is running. */
    idle: (): Promise<unknown> => Promise.all(running),
  };
}
export type Checker = ReturnType<typeof createChecker>;
