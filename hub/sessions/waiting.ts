import { MAX_WAITING_SUBMITS } from "#shared/limits.ts";
import type { HubContext } from "../context.ts";
import { betterHub } from "../fleet/candidate.ts";
import { freeCapacity, freeLane, holdLane, type LanePlace } from "../fleet/lanes.ts";

/** A POST /sessions that waits for a lane; `ctx.lanes_wanted` holds them in the order they came. */
export interface LaneWanted {
  readonly since: number;
  readonly session_id: string;
  readonly worker_id: string | null;
  /** False when nobody waits any more: the lane goes back. */
  take(place: LanePlace<null>): boolean;
  /** The call may be answered by another hub: it is told which one, if it still waits. */
  readonly pass: ((hub_id: string) => boolean) | null;
}

/** What a wait for a lane ends with: a lane of this hub, or the hub that has a better one. */
export type LaneFound = { place: LanePlace<null> } | { hub_id: string };

/**
 * Waits for a lane for a session, at most `wait_ms`; the dispatcher gives it one in turn with the queued jobs.
 * @param elsewhere whether the call may be passed on to a hub that has a better candidate, or the only one (fleet spec §8
 *   rule 2); not one that was passed on to this hub.
 * @returns null when there was none in time, the signal aborted, or too many wait already.
 */
export async function waitForLaneAnywhere(
  ctx: HubContext,
  session_id: string,
  worker_id: string | null,
  wait_ms: number,
  signal: AbortSignal,
  elsewhere: boolean,
): Promise<LaneFound | null> {
  if (ctx.lanes_wanted.size >= MAX_WAITING_SUBMITS || signal.aborted) return null;
  const given = new AbortController();
  let found: LaneFound | null = null;
  let over = false;
  const settle = (with_it: LaneFound): boolean => {
    if (over || found) return false;
    found = with_it;
    given.abort();
    return true;
  };
  const wanted: LaneWanted = {
    since: ctx.clock.now(),
    session_id,
    worker_id,
    take: (place) => settle({ place }),
    pass: elsewhere && worker_id === null ? (hub_id) => settle({ hub_id }) : null,
  };
  ctx.lanes_wanted.add(wanted);
  try {
    ctx.dispatcher.kick();
    if (wait_ms > 0) await ctx.clock.sleep(wait_ms, AbortSignal.any([given.signal, signal]));
    // The pass that was asked for may not have run yet.
    if (!given.signal.aborted && !signal.aborted) await ctx.dispatcher.exclusive(async () => {});
    return found;
  } finally {
    over = true;
    ctx.lanes_wanted.delete(wanted);
  }
}

/** The same for a call that this hub answers itself. */
export async function waitForLane(
  ctx: HubContext,
  session_id: string,
  worker_id: string | null,
  wait_ms: number,
  signal: AbortSignal,
): Promise<LanePlace<null> | null> {
  const found = await waitForLaneAnywhere(ctx, session_id, worker_id, wait_ms, signal, false);
  return found && "place" in found ? found.place : null;
}

/**
 * Gives free lanes to waiting sessions, oldest first. `first` hands lanes to the jobs that were queued before a time.
 * Runs inside `ctx.dispatcher`.
 */
export async function serveWaiting(
  ctx: HubContext,
  first: (created_before: number) => Promise<unknown>,
): Promise<void> {
  for (const wanted of [...ctx.lanes_wanted]) {
    const better = wanted.pass && betterHub(ctx);
    if (better && wanted.pass?.(better.hub_id)) {
      better.left += 1;
      continue;
    }
    if (freeCapacity(ctx, 1) === 0) continue;
    await first(wanted.since);
    if (!ctx.lanes_wanted.has(wanted)) continue;
    const { session_id, worker_id } = wanted;
    const place = await holdLane(ctx, { job_id: null, session_id, only: worker_id });
    if (!place || wanted.take(place)) continue;
    place.settle();
    await freeLane(ctx, place.link, place.held);
  }
}
