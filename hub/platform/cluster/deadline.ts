import { type Clock, DeadlineError } from "#shared/kit/clock.ts";

/** `withDeadline` of shared/kit/clock.ts on an injected clock. The work itself is not stopped. */
export async function within<T>(
  clock: Clock,
  what: string,
  ms: number,
  work: Promise<T>,
): Promise<T> {
  const settled = new AbortController();
  const late = clock.sleep(ms, settled.signal).then(() => {
    if (settled.signal.aborted) return work;
    throw new DeadlineError(what, ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    settled.abort();
    late.catch(() => {});
  }
}
