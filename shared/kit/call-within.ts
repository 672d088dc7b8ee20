import { actAfter, type Clock, DeadlineError } from "./clock.ts";

/** How long a call may take, and who may end it before. */
interface CallLimit {
  /** What takes the time; the `DeadlineError` names it. */
  what: string;
  ms: number;
  /** Once it aborts, nobody waits for the call any more. */
  signal?: AbortSignal;
}

/** What is called: it ends soon after its signal has aborted. */
type Work<T> = (signal: AbortSignal) => Promise<T>;

const ENDED = new Error("the call has ended: its answer is read inside of it");

/**
 * What `work` comes to, however it takes the end of its time: its signal aborts with a `DeadlineError` after `ms`, or with
 * the reason of the outer signal when that aborts, and `work` is waited for all the same. For work that has to leave
 * something tidy before anybody goes on, or whose answer says how far it came. No timer and no listener is left behind,
 * and what still goes by the signal then ends.
 * @throws what `work` throws
 */
export async function windUpWithin<T>(
  clock: Clock,
  { what, ms, signal }: CallLimit,
  work: Work<T>,
): Promise<T> {
  const over = new AbortController();
  const giveUp = () => over.abort(signal?.reason);
  if (signal?.aborted) giveUp();
  signal?.addEventListener("abort", giveUp, { once: true });
  const cancel = actAfter(clock, ms, () => over.abort(new DeadlineError(what, ms)));
  try {
    return await work(over.signal);
  } finally {
    cancel();
    signal?.removeEventListener("abort", giveUp);
    // The runtime keeps a signal that `work` has made of this one by `AbortSignal.any` until one of its sources aborts.
    over.abort(ENDED);
  }
}

/**
 * What `work` comes to within `ms`. Its signal aborts as that of `windUpWithin` does, but nobody waits for `work` then,
 * even if it ignores its signal. An answer is read inside of `work`, or its body has no deadline.
 * @throws DeadlineError after `ms`; the reason of the outer signal when that aborts, without calling `work` when it has
 * aborted before; what `work` throws
 */
export async function callWithin<T>(clock: Clock, limit: CallLimit, work: Work<T>): Promise<T> {
  limit.signal?.throwIfAborted();
  return windUpWithin(clock, limit, async (signal) => {
    const ended = Promise.withResolvers<never>();
    // Heard before `work` hears of it, so that the reason is what is thrown, whatever `work` makes of it.
    signal.addEventListener("abort", () => ended.reject(signal.reason), { once: true });
    const asked = async () => work(signal);
    return Promise.race([ended.promise, asked()]);
  });
}
