import type { Clock } from "#shared/kit/clock.ts";
import { createHold } from "#shared/kit/hold.ts";
import { batchLength } from "./batch.ts";
import type { Entry } from "./entry.ts";
import type { Outage } from "./outage.ts";

const AT_ONCE = 4;
/** Limit of what a burst may hold back: nobody else sees its bodies meanwhile. */
const HOLD = { quiet_ms: 50, longest_ms: 5_000, most_bytes: 16 * 1024 * 1024 };

export interface UploadQueueDeps {
  clock: Clock;
  outage: Pick<Outage, "since">;
  sendOne(entry: Entry): Promise<void>;
  /** Sends several small bodies in one request; returns those that must travel alone. */
  sendBatch(entries: Entry[]): Promise<Entry[]>;
}

/**
 * Which bodies travel next: four requests at once, one of them with small bodies. Those that come in while it is under
 * way form the next one, so that a lone body never waits and a page of images costs a few requests.
 */
export interface UploadQueue {
  /** `at_once`: it does not wait for the end of a burst. */
  put(entry: Entry, at_once: boolean): void;
  /** What waits for the end of a burst goes now. */
  release(): void;
  /** Resolves when nothing waits and nothing is under way. */
  idle(): Promise<void>;
}

export function createUploadQueue(deps: UploadQueueDeps): UploadQueue {
  const { outage } = deps;
  const waiting: Entry[] = [];
  const small: Entry[] = [];
  let held: Entry[] = [];
  let batching = false;
  let running = 0;
  let idle = Promise.withResolvers<void>();
  idle.resolve();

  const sendSmall = async (entries: Entry[]): Promise<void> => {
    const [first] = entries;
    if (entries.length === 1 && first) return deps.sendOne(first);
    waiting.push(...(await deps.sendBatch(entries)));
  };
  const nextTask = (): (() => Promise<void>) | null => {
    if (!batching && small.length > 0) {
      const entries = small.splice(0, batchLength(small.map((entry) => entry.small)));
      batching = true;
      return () =>
        sendSmall(entries).finally(() => {
          batching = false;
        });
    }
    const entry = waiting.shift();
    return entry ? () => deps.sendOne(entry) : null;
  };
  const pump = () => {
    // While nothing is stored, one body at a time finds out when that ends.
    while (running < (outage.since === null ? AT_ONCE : 1)) {
      const task = nextTask();
      if (!task) break;
      running += 1;
      void run(task);
    }
  };
  const run = async (task: () => Promise<void>) => {
    await task();
    running -= 1;
    pump();
    if (running === 0) idle.resolve();
  };
  const start = () => {
    if (running === 0) idle = Promise.withResolvers();
    pump();
    if (running === 0) idle.resolve();
  };
  const hold = createHold(deps.clock, HOLD, () => {
    small.push(...held);
    held = [];
    start();
  });
  return {
    put: (entry, at_once) => {
      const may_go = !entry.small || hold.arrived(entry.upload.size);
      if (!may_go && !at_once) held.push(entry);
      else if (entry.small) small.push(entry);
      else waiting.push(entry);
      start();
    },
    release: hold.release,
    idle: () => idle.promise,
  };
}
