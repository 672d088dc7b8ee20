import type { QueueOp, QueueStore, ResultOf } from "#hub/platform/db/queue/queue-store.ts";
import { AppError } from "#shared/kit/errors.ts";
import { newTallies, type QueueTallies, tallyOp } from "../metrics/queue-tallies.ts";

/** With this much work on its way to the database new work is refused; reports of finished work never are. */
const MAX_PENDING = 100_000;
const RETRY_AFTER_S = 1;

export interface TurnQueue {
  /**
   * Runs the call in the transaction of this turn of the event loop; resolves after its commit.
   * @throws AppError at_capacity when too much is pending; unavailable when the database cannot be used.
   */
  call<O extends QueueOp>(op: O): Promise<ResultOf<O>>;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
}

interface Pending {
  op: QueueOp;
  resolve(result: never): void;
  reject(err: unknown): void;
}

const sizeOf = (op: QueueOp): number =>
  "items" in op ? op.items.length : "tasks" in op ? op.tasks.length : op.max;
const isNewWork = (op: QueueOp): boolean => op.op === "submit" || op.op === "claim";

/**
 * Group commit: what many clients ask for in one turn costs one transaction. While `at_once` transactions run, the next
 * one collects calls, so the busier the database is, the more each commit carries.
 */
export function createTurnQueue(
  store: Pick<QueueStore, "flush">,
  at_once: number,
  tallies: QueueTallies = newTallies(),
): TurnQueue {
  let collecting: Pending[] = [];
  let pending = 0;
  let running = 0;
  let scheduled = false;
  let idle = Promise.withResolvers<void>();
  idle.resolve();

  const settle = async (batch: Pending[]): Promise<void> => {
    try {
      const results = await store.flush(batch.map(({ op }) => op));
      for (const [i, { op, resolve }] of batch.entries()) {
        const result = results[i];
        if (result !== undefined) tallyOp(tallies, op, result);
        resolve(result as never);
      }
    } catch (err) {
      if (batch.length === 1 || (err instanceof AppError && err.kind === "unavailable")) {
        for (const { reject } of batch) reject(err);
        return;
      }
      // A call that the database refuses must not take its neighbours down with it.
      for (const one of batch) await settle([one]);
    }
  };
  const run = async (): Promise<void> => {
    scheduled = false;
    if (running >= at_once || collecting.length === 0) return;
    const batch = collecting;
    collecting = [];
    running += 1;
    await settle(batch);
    running -= 1;
    for (const { op } of batch) pending -= sizeOf(op);
    if (collecting.length > 0) schedule();
    else if (running === 0) idle.resolve();
  };
  const schedule = () => {
    if (scheduled) return;
    scheduled = true;
    setImmediate(() => void run());
  };

  return {
    call: <O extends QueueOp>(op: O) =>
      new Promise<ResultOf<O>>((resolve, reject) => {
        const size = sizeOf(op);
        if (pending + size > MAX_PENDING && pending > 0 && isNewWork(op))
          return reject(
            new AppError("at_capacity", "too much work is on its way to the database", {
              headers: { "Retry-After": String(RETRY_AFTER_S) },
            }),
          );
        if (running === 0 && collecting.length === 0) idle = Promise.withResolvers();
        pending += size;
        collecting.push({ op, resolve: resolve as (result: never) => void, reject });
        if (running < at_once) schedule();
      }),
    idle: () => idle.promise,
  };
}
