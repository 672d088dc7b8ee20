import type { Clock } from "#shared/kit/clock.ts";
import { UnavailableError } from "#shared/kit/env.ts";
import type { Log } from "#shared/kit/log.ts";

/** Wait between two tries. */
const RETRY_MS = 5_000;

export interface RetryDeps {
  clock: Clock;
  log: Log;
  /** Stops waiting: the last error is thrown. */
  signal: AbortSignal;
  /** Called with a line for people that says what it waits for. */
  say(text: string): void;
}

/**
 * Calls `open` until everything that it needs is available, however long that takes: systemd would restart a service
 * that exits over and over, and in the end give up on it for something that is not its fault. Every other error is
 * thrown.
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
