import type { Best } from "./messages.ts";

/** An older summary does not count: its hub may be gone, or its lanes taken. */
const BEST_MAX_AGE_MS = 5_000;

/** Another hub of the fleet, as this one knows it. Times are epoch ms of this hub's clock. */
export interface Peer {
  readonly hub_id: string;
  /** When it was last heard from. */
  seen_at: number;
  /** What it last reported of its free lanes, and when. */
  best: Best | null;
  told_at: number;
  /** Jobs left to it since that report. */
  left: number;
}

/** Negative when `a` comes first (rules/scheduling#order-of-candidates). */
const order = (a: Best, b: Best): number =>
  a.in_flight - b.in_flight || b.max_concurrent - a.max_concurrent;

/**
 * The hub with the best free candidate, if that is strictly better than `own` and not promised to other jobs already:
 * hubs that tie with `own` do not wait for each other.
 */
export function betterPeer(peers: Iterable<Peer>, own: Best | null, now: number): Peer | null {
  let better: Peer | null = null;
  let best = own;
  for (const peer of peers) {
    if (!peer.best || peer.left >= peer.best.workers) continue;
    if (now - peer.told_at > BEST_MAX_AGE_MS) continue;
    if (best && order(peer.best, best) >= 0) continue;
    better = peer;
    best = peer.best;
  }
  return better;
}
