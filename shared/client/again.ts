import { retryWait } from "#shared/kit/backoff.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { FlotillaError } from "./errors.ts";

const WAIT_MS = { first: 500, most: 15_000 };

/** The pause before try `n` (from 0) again: what the answer asks for, else doubling, half of it jitter. */
export function backoffMs(n: number, retry_after: string | null, random = Math.random): number {
  const asked = Number(retry_after ?? Number.NaN);
  if (Number.isFinite(asked) && asked >= 0) return Math.min(asked * 1_000, 60_000);
  return retryWait(n, WAIT_MS, random());
}

export interface Patience {
  /** How long to keep trying; 0 throws the first failure. */
  patience_ms: number;
  signal?: AbortSignal | undefined;
}

/** Runs `attempt` again while it fails in a way that `passes`, waiting as Retry-After says or 0.5 s doubling to 15 s. */
export async function again<T>(
  { patience_ms, signal }: Patience,
  passes: (err: FlotillaError) => boolean,
  attempt: () => Promise<T>,
): Promise<T> {
  const until = systemClock.now() + patience_ms;
  for (let n = 0; ; n += 1) {
    try {
      return await attempt();
    } catch (err) {
      if (!(err instanceof FlotillaError) || !passes(err)) throw err;
      const wait = backoffMs(n, err.headers.get("retry-after"));
      if (signal?.aborted || systemClock.now() + wait > until) throw err;
      await systemClock.sleep(wait, signal);
    }
  }
}

/** Everybody is at work, or a store is away. */
export const isBusy = ({ status }: FlotillaError): boolean => status === 503;
