import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import type { WorkloadSettings } from "#shared/protocol/schema/pull.ts";
import { taskClock } from "#test/support/fakes/task-clock.ts";
import type { Executor, TaskEnd, TaskInput } from "#worker/tasks/executor.ts";
import { createExecutor } from "#worker/tasks/executors.ts";

type Config = WorkloadSettings["executor_config"];

/** Executors in a directory of their own, as a pull worker makes them. */
export interface ExecutorRig {
  dir: string;
  executor(type: WorkloadSettings["executor_type"], config: Config): Promise<Executor>;
  /** An executor of a Python module with this source. */
  python(source: string, more?: Config): Promise<Executor>;
  /** An executor of a TypeScript module with this source. */
  bun(source: string, more?: Config): Promise<Executor>;
  command(argv: string[], more?: Config): Promise<Executor>;
  run(
    executor: Executor,
    tasks: TaskInput[],
    options?: { timeout_ms?: number; signal?: AbortSignal },
  ): Promise<TaskEnd[]>;
  closeExecutors(): Promise<void>;
  close(): Promise<void>;
}

let made = 0;
export const task = (pk: string, extra: unknown = null, task_id = ++made): TaskInput => ({
  task_id,
  epoch: 1,
  attempt: 1,
  max_attempts: 3,
  pk,
  extra,
});
export const outcomesOf = (ends: TaskEnd[]) => ends.map(({ outcome }) => outcome);

/** The seconds a task is given to stop by itself are a tenth of one; what is shorter or longer stays. */
const hurried: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(ms >= 1_000 && ms <= 5_000 ? 150 : ms, signal),
};

/** `clock`: one that hurries stops unless the test is about how long they take. */
export async function createExecutorRig(clock: Clock = hurried): Promise<ExecutorRig> {
  const dir = await mkdtemp(join(tmpdir(), "flotilla-executors-"));
  const open: Executor[] = [];
  const fromSource = async (
    type: "python_module" | "bun_module",
    ending: string,
    source: string,
    more: Config = {},
  ) => {
    const module = `plugin_${++made}`;
    const source_path = join(dir, `${module}.${ending}`);
    await writeFile(source_path, source);
    return rig.executor(type, { source_path, module, ...more });
  };
  const rig: ExecutorRig = {
    dir,
    executor: async (executor_type, executor_config) => {
      // The system's own Python first: the shims of version managers take half a second to start one.
      const environment = { PATH: `/usr/bin:${process.env.PATH}`, LANG: "C.UTF-8" };
      const executor = await createExecutor(
        { clock, log: silentLog, dir, environment },
        {
          slug: `w${++made}`,
          revision: "1",
          executor_type,
          executor_config,
          batch_size: 1,
          lease_ms: 60_000,
          timeout_ms: null,
        },
      );
      open.push(executor);
      return executor;
    },
    python: (source, more) => fromSource("python_module", "py", source, more),
    bun: (source, more) => fromSource("bun_module", "ts", source, more),
    command: (argv, more = {}) => rig.executor("command", { argv, ...more }),
    run: async (executor, tasks, options = {}) => {
      const ends: TaskEnd[] = [];
      await executor.run(tasks, {
        timeout_ms: options.timeout_ms ?? null,
        signal: options.signal ?? new AbortController().signal,
        onEnd: (end) => ends.push(end),
      });
      return ends;
    },
    closeExecutors: async () => {
      await Promise.all(open.splice(0).map((executor) => executor.close()));
    },
    close: async () => {
      await rig.closeExecutors();
      await rm(dir, { recursive: true, force: true });
    },
  };
  return rig;
}

/** Executors whose tasks have as long as they need until their deadline; it comes when they make the file `mark` names. */
export async function withTaskClock(
  use: (rig: ExecutorRig, mark: ReturnType<typeof taskClock>["mark"]) => Promise<void>,
): Promise<void> {
  const marks = await mkdtemp(join(tmpdir(), "flotilla-marks-"));
  const clock = taskClock(marks);
  const rig = await createExecutorRig(clock);
  try {
    await use(rig, clock.mark);
  } finally {
    await rig.close();
    await rm(marks, { recursive: true, force: true });
  }
}
