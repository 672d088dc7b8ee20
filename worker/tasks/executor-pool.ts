import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import { startLoop } from "#shared/kit/loop.ts";
import type { WorkloadSettings } from "#shared/protocol/schema/pull.ts";
import type { Executor } from "./executor.ts";

/** A warm process that nobody needs gives its memory back. */
const IDLE_MS = 10 * 60_000;
const LOOK_EVERY_MS = 60_000;

interface Idle {
  key: string;
  since: number;
  executor: Executor;
}

/**
 * Warm executors of this worker: a slot takes one of its workload's revision, or a new one. The longest idle ones are
 * closed when there are more than slots, as is each one that was idle for ten minutes.
 */
export function createExecutorPool(deps: {
  most: number;
  create(workload: WorkloadSettings): Promise<Executor>;
  clock: Clock;
  log: Log;
}) {
  const { clock, log } = deps;
  let idle: Idle[] = [];
  let generation = 0;
  const born = new WeakMap<Executor, number>();
  const keyOf = ({ slug, revision }: WorkloadSettings) => `${slug}@${revision}`;
  const closeIdle = async (since = Number.POSITIVE_INFINITY): Promise<void> => {
    const going = idle.filter((entry) => entry.since <= since);
    idle = idle.filter((entry) => !going.includes(entry));
    await Promise.all(going.map(({ executor }) => executor.close()));
  };
  const pass = () => closeIdle(clock.monotonic() - IDLE_MS);
  const loop = startLoop({ name: "idle executors", everyMs: LOOK_EVERY_MS, clock, log, pass });
  return {
    take: async (workload: WorkloadSettings): Promise<Executor> => {
      const key = keyOf(workload);
      // The most recently used one is the warmest.
      const at = idle.findLastIndex((entry) => entry.key === key);
      const [found] = at < 0 ? [] : idle.splice(at, 1);
      if (found) return found.executor;
      const executor = await deps.create(workload);
      born.set(executor, generation);
      return executor;
    },
    give: async (workload: WorkloadSettings, executor: Executor): Promise<void> => {
      if (born.get(executor) !== generation) return executor.close();
      idle.push({ key: keyOf(workload), since: clock.monotonic(), executor });
      const over = idle.splice(0, Math.max(0, idle.length - deps.most));
      await Promise.all(over.map((entry) => entry.executor.close()));
    },
    /** No executor made before this moment runs another batch. */
    recycle: (): Promise<void> => {
      generation += 1;
      return closeIdle();
    },
    close: async (): Promise<void> => {
      await loop.stop();
      await closeIdle();
    },
  };
}
export type ExecutorPool = ReturnType<typeof createExecutorPool>;
