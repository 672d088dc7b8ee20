/** Close codes of the link. The reason travels as the close reason. */
export const LINK_CLOSE = {
  bad_message: 1008,
  too_big: 1009,
  going_away: 1001,
  restarting: 1012,
  bad_secret: 4401,
  duplicate_worker: 4409,
  replaced: 4410,
  liveness: 4408,
} as const;

/** The reason given to a worker that has another secret (rules/worker-link#bad-worker-secret). */
export const BAD_SECRET_REASON = "bad worker secret";

/** Two live hosts with one worker_id (rules/workers#two-workers-with-one-id). */
export const DUPLICATE_WORKER_REASON = "duplicate worker_id";

/** Reasons with 1001 by which a side says that it will not come back; a router that goes away gives others. */
export const HUB_STOPPING_REASON = "hub is stopping";

/** Reason of 1012: the worker must keep what it runs and dial until a hub takes it up. */
export const HUB_RESTARTING_REASON = "hub is restarting; what runs goes on";

export const WORKER_STOPPING_REASON = "worker is stopping";

const ENDS: ReadonlySet<number> = new Set([
  LINK_CLOSE.bad_message,
  LINK_CLOSE.too_big,
  LINK_CLOSE.bad_secret,
  LINK_CLOSE.duplicate_worker,
  LINK_CLOSE.replaced,
]);

/** Whether a link may continue on another socket after one was closed like this: a deliberate reason ends it. */
export function isCut(code: number, reason: string): boolean {
  if (code === LINK_CLOSE.going_away)
    return reason !== HUB_STOPPING_REASON && reason !== WORKER_STOPPING_REASON;
  return !ENDS.has(code);
}
