import type { WorkloadSettings } from "#shared/schema/pull.ts";
import type { Executor } from "./types.ts";

interface Idle {
  key: string;
  executor: Executor;
}

/**
 * Warm executors of this worker: a slot takes one of its workload's revision, or a new one. Those that are idle longest go
 * when more are kept than there are slots.
 */
export function createExecutorPool(deps: {
  most: number;
  create(workload: WorkloadSettings): Promise<Executor>;
}) {
  let idle: Idle[] = [];
  let generation = 0;
  const born = new WeakMap<Executor, number>();
  const keyOf = ({ slug, revision }: WorkloadSettings) => `${slug}@${revision}`;
  const closeIdle = async (): Promise<void> => {
    const all = idle;
    idle = [];
    await Promise.all(all.map(({ executor }) => executor.close()));
  };
  return {
    take: async (workload: WorkloadSettings): Promise<Executor> => {
      const key = keyOf(workload);
      // The one used last is the warmest.
      const at = idle.findLastIndex((entry) => entry.key === key);
      const [found] = at < 0 ? [] : idle.splice(at, 1);
      if (found) return found.executor;
      const executor = await deps.create(workload);
      born.set(executor, generation);
      return executor;
    },
    give: async (workload: WorkloadSettings, executor: Executor): Promise<void> => {
      if (born.get(executor) !== generation) return executor.close();
      idle.push({ key: keyOf(workload), executor });
      const over = idle.splice(0, Math.max(0, idle.length - deps.most));
      await Promise.all(over.map((entry) => entry.executor.close()));
    },
    /** No executor made before this moment runs another batch. */
    recycle: (): Promise<void> => {
      generation += 1;
      return closeIdle();
    },
    close: closeIdle,
  };
}
