import type { Log } from "#shared/kit/log.ts";
import {
  BrokenExecutorError,
  type Executor,
  notRun,
  type RunOptions,
  type TaskInput,
} from "./executor.ts";
import { followTask } from "./follow-task.ts";
import { createSentTasks, type SentTask } from "./sent-tasks.ts";
import { startWarmChild, type WarmChild, type WarmChildDeps } from "./warm-child.ts";

export interface ModuleExecutorDeps extends WarmChildDeps {
  log: Log;
}

/** Runs tasks in a warm child process, which is replaced when it has died, hangs or has done its share. */
export function createModuleExecutor(deps: ModuleExecutorDeps): Executor {
  let child: WarmChild | null = null;
  const sent = createSentTasks();

  const start = () => startWarmChild(deps, sent.onFrame);
  const replace = async (at_once = true): Promise<void> => {
    const old = child;
    child = null;
    await old?.process.end({ at_once });
  };
  /** Runs what this child can of `tasks`; returns how many have ended. */
  const runOn = async (
    on: WarmChild,
    tasks: readonly TaskInput[],
    options: RunOptions,
  ): Promise<number> => {
    sent.send(on.process, tasks, options.timeout_ms);
    for (const [i, task] of tasks.entries()) {
      const end = await followTask(on, sent.get(task) as SentTask, options, {
        clock: deps.clock,
        memory_bytes: deps.memory_bytes,
        end: replace,
      });
      sent.remove(task);
      on.countTask();
      options.onEnd(end);
      // Later tasks without an answer never ran, so they go to the next child.
      const next = tasks[i + 1];
      const over = !on.process.alive || child !== on;
      if (over && !(next && sent.get(next)?.answered)) return i + 1;
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
        if (child && !child.process.alive) await replace();
        if (child?.isWorn()) await replace(child.unclean);
        try {
          child ??= await start();
        } catch (err) {
          if (!(err instanceof BrokenExecutorError)) throw err;
          deps.log.error({ err: err.message }, "executor is broken");
          for (const task of rest)
            options.onEnd({ ...notRun(task, err.message, true), stderr: err.stderr });
          return;
        }
        rest = rest.slice(await runOn(child, rest, options));
        sent.clear();
      }
    },
    load: async () => {
      child ??= await start();
    },
    close: () => replace(false),
  };
}
