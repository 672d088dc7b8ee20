import type { Clock } from "#shared/clock.ts";

/** Research §4.3: more reads at once than this gain nothing. */
const MAX_CONCURRENT = 8;
/** No read waits longer than this behind smaller ones: buffers evict the oldest first. */
const MAX_AGE_MS = 2_000;

/** Work with a size: the smallest goes first, but none waits too long. */
export interface ReadQueue {
  add(size: number, run: () => Promise<void>): void;
  readonly pending: number;
  /** Resolves when nothing is queued or running. */
  drained(): Promise<void>;
}

/** @param onError gets what a `run` rejects with; the queue goes on */
export function createReadQueue(clock: Clock, onError: (err: unknown) => void): ReadQueue {
  const waiting: { size: number; queued_at: number; run: () => Promise<void> }[] = [];
  let running = 0;
  let idle = Promise.withResolvers<void>();
  idle.resolve();

  const takeNext = () => {
    const oldest = waiting[0];
    if (oldest && clock.now() - oldest.queued_at >= MAX_AGE_MS) return waiting.shift();
    let best = 0;
    for (let i = 1; i < waiting.length; i += 1)
      if ((waiting[i]?.size ?? 0) < (waiting[best]?.size ?? 0)) best = i;
    return waiting.splice(best, 1)[0];
  };
  const pump = () => {
    while (running < MAX_CONCURRENT && waiting.length > 0) {
      const next = takeNext();
      if (!next) return;
      running += 1;
      next
        .run()
        .catch(onError)
        .finally(() => {
          running -= 1;
          pump();
          if (running === 0 && waiting.length === 0) idle.resolve();
        });
    }
  };
  return {
    get pending() {
      return running + waiting.length;
    },
    add: (size, run) => {
      if (running === 0 && waiting.length === 0) idle = Promise.withResolvers<void>();
      waiting.push({ size, queued_at: clock.now(), run });
      pump();
    },
    drained: () => idle.promise,
  };
}
