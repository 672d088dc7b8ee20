import type { Clock } from "#shared/kit/clock.ts";
import { UnavailableError } from "#shared/kit/env.ts";
import type { Log } from "#shared/kit/log.ts";

/** Between two tries. */
const RETRY_MS = 5_000;

export interface RetryDeps {
  clock: Clock;
  log: Log;
  /** Ends the waiting: what was wrong last is thrown. */
  signal: AbortSignal;
  /** Told what is waited for, in a line for people. */
  say(text: string): void;
}

/**
 * Calls `open` until nothing that it needs is away any more, however long that takes: a service that ended for it would be
 * started over and over, and given up by systemd for what is not its fault. Every other error is thrown.
 */
export async function retryUnavailable<T>(open: () => Promise<T>, deps: RetryDeps): Promise<T> {
  const { clock, log, signal, say } = deps;
  for (;;)
    try {
      return await open();
    } catch (err) {
      if (!(err instanceof UnavailableError) || signal.aborted) throw err;
      log.warn({ reason: err.message, retry_ms: RETRY_MS }, "start waits");
      say(`waiting: ${err.message}`);
      await clock.sleep(RETRY_MS, signal);
      if (signal.aborted) throw err;
    }
}
