import type { RateLimit } from "#shared/protocol/schema/workload.ts";
import type { ClaimLimit, ClaimOp } from "./queue-store.ts";

/** The rules of `max_in_flight` and `rate_limit` that both databases follow. */

/** Claims of one window are remembered in about this many pieces, so the rate is kept to within 1/PIECES. */
const PIECES = 200;

export const perMs = ({ per_s }: RateLimit): number => Math.round(per_s * 1_000);
const pieceMs = (limit: RateLimit): number => Math.max(1, Math.floor(perMs(limit) / PIECES));

/** What the database knows of a limited workload at one moment, `now`. */
export interface Places {
  now: number;
  claimed: number;
  /** Claims in the window that ends now; the time of its oldest piece, and how many claims that holds. */
  used: number;
  oldest_at: number | null;
  oldest_used: number;
  newest_at: number | null;
}

export const isLimited = (op: ClaimOp): boolean =>
  op.max_in_flight !== null || op.rate_limit !== null;

/** Claims up to this time are forgotten: they are no longer in a window that ends at `now`. */
export const forgottenAt = (limit: RateLimit | null, now: number): number =>
  now - (limit ? perMs(limit) : 0);

/** The end of the piece that contains `now`: a claim counts until a whole window after it. */
export function pieceOf(limit: RateLimit, now: number): number {
  const piece = pieceMs(limit);
  return Math.ceil(now / piece) * piece;
}

/** Claims are remembered as later than now: the clock was set back, and they would count for as long as it jumped. */
export const isAhead = (limit: RateLimit, { newest_at, now }: Places): boolean =>
  newest_at !== null && newest_at > pieceOf(limit, now);

const inFlightLeft = (op: ClaimOp, places: Places): number =>
  op.max_in_flight === null ? Number.MAX_SAFE_INTEGER : op.max_in_flight - places.claimed;
const rateLeft = (op: ClaimOp, places: Places): number =>
  op.rate_limit === null ? Number.MAX_SAFE_INTEGER : op.rate_limit.count - places.used;

/** How many tasks may be claimed now. */
export const roomOf = (op: ClaimOp, places: Places): number =>
  Math.max(0, Math.min(inFlightLeft(op, places), rateLeft(op, places)));

/** What the limits leave once `taken` tasks were claimed. */
export function limitAfter(op: ClaimOp, places: Places, taken: number): ClaimLimit {
  const in_flight = inFlightLeft(op, places) - taken;
  const rate = rateLeft(op, places) - taken;
  const left = Math.max(0, Math.min(in_flight, rate));
  if (op.rate_limit === null || in_flight <= rate) return { by: "in_flight", left };
  const { now, oldest_at, oldest_used } = places;
  // Without older claims, the claims of this moment are the first to be forgotten.
  const opens_at = (oldest_at ?? pieceOf(op.rate_limit, now)) + perMs(op.rate_limit);
  return {
    by: "rate",
    left,
    opens_in_ms: Math.max(1, opens_at - now),
    opening: oldest_at === null ? taken : oldest_used,
  };
}
