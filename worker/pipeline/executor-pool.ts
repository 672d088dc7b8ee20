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
  const keyOf = ({ slug, revision }: WorkloadSettings) => `${slug}@${revision}`;
  return {
    take: async (workload: WorkloadSettings): Promise<Executor> => {
      const key = keyOf(workload);
      // The one used last is the warmest.
      const at = idle.findLastIndex((entry) => entry.key === key);
      const [found] = at < 0 ? [] : idle.splice(at, 1);
      return found?.executor ?? deps.create(workload);
    },
    give: async (workload: WorkloadSettings, executor: Executor): Promise<void> => {
      idle.push({ key: keyOf(workload), executor });
      const over = idle.splice(0, Math.max(0, idle.length - deps.most));
      await Promise.all(over.map((entry) => entry.executor.close()));
    },
    close: async (): Promise<void> => {
      const all = idle;
      idle = [];
      await Promise.all(all.map(({ executor }) => executor.close()));
    },
  };
}
