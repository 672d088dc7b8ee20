import type { Clock } from "#shared/kit/clock.ts";
import { createHold } from "#shared/kit/hold.ts";

/** More reads at once than this gain nothing (rules/capture#read-at-the-end). */
const MAX_CONCURRENT = 8;
/** No read waits longer than this behind smaller ones: buffers evict the oldest first. */
const MAX_AGE_MS = 2_000;

/**
 * Reads that may wait do so while bodies finish one after the other: read at once, 300 images made their page's load
 * take twice as long. Far below what the browser keeps for them (256 MB of each target).
 */
const HOLD = { quiet_ms: 100, longest_ms: 3_000, most_bytes: 32 * 1024 * 1024 };

/** Work items with a size: the smallest goes first, but none waits too long. */
export interface ReadQueue {
  /** `may_wait`: the body is safe where it is until the page has loaded. */
  add(size: number, run: () => Promise<void>, may_wait?: boolean): void;
  /** Immediately reads what waits for the end of a burst. */
  release(): void;
  readonly pending: number;
  /** Resolves when nothing is queued or running; nothing waits any longer. */
  drained(): Promise<void>;
}

interface Read {
  size: number;
  queued_at: number;
  run: () => Promise<void>;
}

/** @param onError receives the error with which a `run` rejects; the queue continues */
export function createReadQueue(clock: Clock, onError: (err: unknown) => void): ReadQueue {
  const waiting: Read[] = [];
  let held: Read[] = [];
  let running = 0;
  let idle = Promise.withResolvers<void>();
  idle.resolve();

  const takeNext = () => {
    const oldest = waiting[0];
    if (oldest && clock.monotonic() - oldest.queued_at >= MAX_AGE_MS) return waiting.shift();
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
          if (running === 0 && waiting.length === 0 && held.length === 0) idle.resolve();
        });
    }
  };
  const hold = createHold(clock, HOLD, () => {
    waiting.push(...held);
    held = [];
    pump();
  });
  const pending = () => running + waiting.length + held.length;
  return {
    get pending() {
      return pending();
    },
    add: (size, run, may_wait = false) => {
      if (pending() === 0) idle = Promise.withResolvers<void>();
      const read = { size, queued_at: clock.monotonic(), run };
      if (may_wait && !hold.arrived(size)) {
        held.push(read);
        return;
      }
      waiting.push(read);
      pump();
    },
    release: hold.release,
    drained: () => {
      hold.release();
      return idle.promise;
    },
  };
}
