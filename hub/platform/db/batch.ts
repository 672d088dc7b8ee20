export interface BatchOptions<I, O> {
  /** Does all of them in one statement; the outcomes in their order. */
  many(inputs: I[]): Promise<O[]>;
  /** Does a single input, when it is alone or when its batch could not be done together. */
  one(input: I): Promise<O>;
  /** Inputs with the same key are never in one batch: each is decided after the changes of the one before it. */
  key?: (input: I) => string;
  /** Whether one of the inputs may have caused the error of `many`. */
  splits(err: unknown): boolean;
}

/** Longer batches gain nothing, and one statement must not take long. */
const MOST = 64;
/** A batch follows the one before when that is answered, or after this time, because that one may wait for a lock. */
const SLOW_MS = 20;
/** Batches under way at most. */
const AT_ONCE = 3;

interface Asked<I, O> {
  input: I;
  resolve(outcome: O | Promise<O>): void;
  reject(err: unknown): void;
}

/** Calls that are made within one turn of the event loop, or while the statement before runs, are done by one statement. */
export function createBatcher<I, O>(options: BatchOptions<I, O>): (input: I) => Promise<O> {
  let asked: Asked<I, O>[] = [];
  let running = 0;
  /** Until then, calls wait for the batch before. */
  let wait_until = 0;
  let soon = false;

  const take = (): Asked<I, O>[] => {
    if (!options.key) return asked.splice(0, MOST);
    const batch = new Map<string, Asked<I, O>>();
    const later: Asked<I, O>[] = [];
    for (const one of asked) {
      const key = options.key(one.input);
      if (batch.size < MOST && !batch.has(key)) batch.set(key, one);
      else later.push(one);
    }
    asked = later;
    return [...batch.values()];
  };
  const each = (batch: readonly Asked<I, O>[]) => {
    for (const { input, resolve } of batch) resolve(options.one(input));
  };
  const run = async (batch: readonly Asked<I, O>[]): Promise<void> => {
    try {
      if (batch.length === 1) {
        const [alone] = batch;
        if (alone) alone.resolve(await options.one(alone.input));
        return;
      }
      const outcomes = await options.many(batch.map(({ input }) => input));
      for (const [i, { resolve }] of batch.entries()) resolve(outcomes[i] as O);
    } catch (err) {
      if (batch.length > 1 && options.splits(err)) each(batch);
      else for (const { reject } of batch) reject(err);
    }
  };
  const start = async (): Promise<void> => {
    soon = false;
    running += 1;
    wait_until = performance.now() + SLOW_MS;
    const slow = setTimeout(look, SLOW_MS);
    await run(take());
    clearTimeout(slow);
    running -= 1;
    if (running === 0) wait_until = 0;
    look();
  };
  const look = (): void => {
    if (soon || asked.length === 0 || running >= AT_ONCE) return;
    if (running > 0 && performance.now() < wait_until) return;
    soon = true;
    setImmediate(() => void start());
  };
  return (input) =>
    new Promise((resolve, reject) => {
      asked.push({ input, resolve, reject });
      look();
    });
}
