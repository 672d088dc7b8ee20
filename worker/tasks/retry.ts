import { retryWait } from "#shared/kit/backoff.ts";
import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import type { Life } from "./life.ts";

const RETRY_MS = { first: 200, most: 10_000 };

export interface RetryDeps {
  life: Life;
  clock: Clock;
  log: Log;
  random: () => number;
  /** Whether there is something that a stopping worker must still report. */
  owes(): boolean;
}

/** Called with each failure. */
interface OnFailure {
  onFailure?(err: unknown): void;
  /** Ms until the next try when the control plane has refused us for good; null for every other failure. */
  refusedFor?(err: unknown): number | null;
}

/** Repeats a call until it is answered. @throws the last failure, once the answer is no longer needed. */
export type Retry = <T>(what: string, call: () => Promise<T>, on?: OnFailure) => Promise<T>;

/** Calls with growing waits in between. A stopping worker that owes nothing gives up. */
export function createRetry({ life, clock, log, random, owes }: RetryDeps): Retry {
  const { stopping, gone } = life;
  const isOver = () => gone.aborted || (stopping.aborted && !owes());
  return async (what, call, { onFailure, refusedFor } = {}) => {
    for (let failures = 0; ; failures += 1) {
      try {
        return await call();
      } catch (err) {
        if (isOver()) throw err;
        onFailure?.(err);
        const refused_ms = refusedFor?.(err) ?? null;
        const wait_ms = refused_ms ?? retryWait(failures, RETRY_MS, random());
        const level = refused_ms === null ? "warn" : "error";
        log[level]({ err: errorMessage(err), wait_ms }, `${what} failed`);
        // A worker that begins to stop does not sit out a long wait; one that stops already does.
        const ends = stopping.aborted ? [gone] : [gone, stopping];
        await clock.sleep(wait_ms, AbortSignal.any(ends));
        if (isOver()) throw err;
      }
    }
  };
}
