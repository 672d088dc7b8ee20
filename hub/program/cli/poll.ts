import { FlotillaError } from "#shared/client/errors.ts";
import type { Clock } from "#shared/kit/clock.ts";

/** How long the hub may be away before following gives up. */
const PATIENCE_MS = 30_000;
const POLL_MS = 500;

/** It restarts, or a router before it has no other. */
const mayComeBack = (err: unknown): boolean =>
  err instanceof FlotillaError && [0, 502, 503, 504].includes(err.status);

/**
 * Looks twice a second until `look` says that it is over, and waits for a hub that restarts meanwhile.
 * @returns false when `signal` came first. @throws what `look` throws, and when the hub stays away for 30 s
 */
export async function pollUntil(
  { clock, signal }: { clock: Clock; signal: AbortSignal },
  look: () => Promise<boolean>,
): Promise<boolean> {
  for (let heard_at = clock.now(); !signal.aborted; await clock.sleep(POLL_MS, signal))
    try {
      if (await look()) return true;
      heard_at = clock.now();
    } catch (err) {
      if (signal.aborted) return false;
      if (!mayComeBack(err) || clock.now() - heard_at > PATIENCE_MS) throw err;
    }
  return false;
}
