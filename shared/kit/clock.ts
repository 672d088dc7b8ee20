/** Time as a dependency, so that loops and deadlines can be tested without waiting. */
export interface Clock {
  /** Wall clock, epoch milliseconds: for what is stored and shown. It may jump, so expiry must not depend on it. */
  now(): number;
  /**
   * The wall clock at the start of the process plus the milliseconds since: it never jumps and never goes back. For
   * ages, deadlines and leases within this process.
   */
  monotonic(): number;
  /** Resolves after `ms`, or as soon as `signal` aborts; never rejects. */
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
 * The caller must end it through `done`, or its timer keeps running for nothing.
 */
export function abortAfter(
  clock: Clock,
  ms: number,
  done: AbortSignal,
  what = "waiting",
): AbortSignal {
  const over = new AbortController();
  void clock.sleep(ms, done).then(() => {
    if (!done.aborted) over.abort(new DeadlineError(what, ms));
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

/** A timer that rings so much too late means that this process, and maybe the machine, stood still. */
const STOOD_STILL_MS = 1_000;

/**
 * Acts once `ms` have passed, unless the returned function is called before. After this process stood still every timer is
 * due, and what it waits for may be there, unread: it waits a second more at most, once.
 */
export function setDeadline(ms: number, act: () => void): () => void {
  const due = performance.now() + ms;
  let timer = setTimeout(() => {
    if (performance.now() - due <= STOOD_STILL_MS) return act();
    timer = setTimeout(act, Math.min(ms, STOOD_STILL_MS));
  }, ms);
  return () => clearTimeout(timer);
}

/** Acts once `ms` have passed, unless the returned function is called before. */
export function actAfter(clock: Clock, ms: number, act: () => void): () => void {
  // Every query of a database has a deadline: a signal costs ten times what a timer does.
  if (clock === systemClock) return setDeadline(ms, act);
  const over = new AbortController();
  void clock.sleep(ms, over.signal).then(() => {
    if (!over.signal.aborted) act();
  });
  return () => over.abort();
}

/** What `work` comes to, or what `late` settles once `ms` have passed. No timer is left behind. */
async function orLate<T>(
  clock: Clock,
  ms: number,
  work: Promise<T>,
  late: (answer: PromiseWithResolvers<T>) => void,
): Promise<T> {
  const answer = Promise.withResolvers<T>();
  const cancel = actAfter(clock, ms, () => late(answer));
  try {
    return await Promise.race([work, answer.promise]);
  } finally {
    cancel();
  }
}

/**
 * Rejects with a `DeadlineError` naming `what` when `promise` takes longer than `ms`.
 * The work itself is not stopped; pass it a signal if it takes one.
 */
export const withDeadline = <T>(
  what: string,
  ms: number,
  promise: Promise<T>,
  clock: Clock = systemClock,
): Promise<T> => orLate(clock, ms, promise, ({ reject }) => reject(new DeadlineError(what, ms)));

/**
 * Waits for `work`, and for `ms` at most; false when it takes longer. The work itself is not stopped, and no timer is
 * left behind. @throws what `work` throws within that time.
 */
export const endsWithin = (clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> =>
  orLate(
    clock,
    ms,
    work.then(() => true),
    ({ resolve }) => resolve(false),
  );

/** ISO 8601 UTC with milliseconds, the only time format in the API. */
export const isoTime = (ms: number): string => new Date(ms).toISOString();
export const isoTimeOrNull = (ms: number | null): string | null =>
  ms === null ? null : isoTime(ms);
