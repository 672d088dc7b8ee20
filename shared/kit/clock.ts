/** Time as a dependency, so that loops and deadlines can be tested without waiting. */
export interface Clock {
  /** Wall clock, epoch milliseconds: for what is stored and shown. It may jump, so nothing may expire by it. */
  now(): number;
  /**
   * What the wall clock showed when the process began, and the milliseconds since: it never jumps and never goes back. For
   * ages, deadlines and leases within this process.
   */
  monotonic(): number;
  /** Resolves after `ms`, or at once when `signal` aborts; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

const BEGAN_AT = Date.now() - performance.now();

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => Math.floor(BEGAN_AT + performance.now()),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener("abort", done, { once: true });
    }),
};

/**
 * A signal that aborts after `ms`, unless `done` aborts first; then it never does.
 * The caller must end it through `done`, or a timer keeps running for nobody.
 */
export function abortAfter(clock: Clock, ms: number, done: AbortSignal): AbortSignal {
  const over = new AbortController();
  void clock.sleep(ms, done).then(() => {
    if (!done.aborted) over.abort(new DeadlineError("waiting", ms));
  });
  return over.signal;
}

export class DeadlineError extends Error {
  readonly ms: number;
  constructor(what: string, ms: number) {
    super(`${what} timed out after ${ms} ms`);
    this.name = "DeadlineError";
    this.ms = ms;
  }
}

/**
 * Rejects with a `DeadlineError` naming `what` when `promise` takes longer than `ms`.
 * The work itself is not stopped; pass it a signal when it can be.
 */
export async function withDeadline<T>(what: string, ms: number, promise: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DeadlineError(what, ms)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** ISO 8601 UTC with milliseconds, the only time format in the API. */
export const isoTime = (ms: number): string => new Date(ms).toISOString();
export const isoTimeOrNull = (ms: number | null): string | null =>
  ms === null ? null : isoTime(ms);
