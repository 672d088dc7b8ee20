import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import {
  type CheckAnswer,
  MAX_BROKEN_ERROR,
  MAX_BROKEN_TRACE,
} from "#shared/protocol/schema/executor.ts";
import type { WaitingCheck, WorkloadSettings } from "#shared/protocol/schema/pull.ts";
import { BrokenExecutorError, type Executor } from "./executor.ts";

/** How many ids of checks are remembered: every heartbeat repeats a check until it is answered. */
const REMEMBERED = 100;

export interface CheckerDeps {
  /** Creates a separate executor: one that a slot uses is not touched. */
  create(workload: WorkloadSettings): Promise<Executor>;
  answer(found: CheckAnswer): Promise<void>;
  /** Called with the result before it is sent. */
  onFound(workload: WorkloadSettings, broken: { error: string; trace: string } | null): void;
  log: Log;
}

/** Loads the code of workloads on request, and answers what it found. */
export function createChecker({ create, answer, onFound, log }: CheckerDeps) {
  const begun: string[] = [];
  const running = new Set<Promise<void>>();

  const load = async (workload: WorkloadSettings): Promise<void> => {
    const executor = await create(workload);
    try {
      await executor.load();
    } finally {
      await executor.close();
    }
  };
  const check = async ({ check_id, workload }: WaitingCheck): Promise<void> => {
    const since = performance.now();
    const broken = await load(workload).then(
      () => null,
      (err) => ({
        error: errorMessage(err).slice(0, MAX_BROKEN_ERROR),
        trace: err instanceof BrokenExecutorError ? err.stderr.slice(-MAX_BROKEN_TRACE) : "",
      }),
    );
    onFound(workload, broken);
    await answer({
      check_id,
      revision: workload.revision,
      state: broken ? "broken" : "ok",
      error: broken?.error ?? null,
      trace: broken?.trace ?? null,
      ms: Math.round(performance.now() - since),
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
