import { jittered, retryWait } from "#shared/kit/backoff.ts";
import { LINK_CLOSE } from "#shared/protocol/link/close.ts";

const DIAL_MS = { first: 200, most: 10_000 };
/** A link that stood this long ends a series of failures. */
export const STABLE_MS = 10_000;
/** Only a person can fix these, and may do so at any time: keep trying, slowly. */
const REFUSED_MS = 30_000;

const REFUSALS: Record<number, string> = {
  [LINK_CLOSE.bad_secret]:
    "set WORKER_SECRET to the hub's, or SVC_API_TOKEN if the hub has no such secret",
  [LINK_CLOSE.duplicate_worker]:
    "another live host has this worker_id: set SVC_WORKER_ID to another name on one of them",
  [LINK_CLOSE.replaced]:
    "another worker took over this worker_id: set SVC_WORKER_ID to another name on one of them",
};

/** What a person must do about a close code, or null when waiting may help. */
export const refusalAdvice = (code: number): string | null => REFUSALS[code] ?? null;

/**
 * Milliseconds to wait before the next dial: 0.2 s doubling up to 10 s after `failures` failures in a row, 30 s
 * after a refusal; half of it is jitter, so that a fleet does not come back in step after a hub restart.
 */
export function reconnectDelay(failures: number, code: number, random: () => number): number {
  return refusalAdvice(code) === null
    ? retryWait(failures, DIAL_MS, random())
    : jittered(REFUSED_MS, random());
}
