import type { LaneLease } from "#hub/platform/stores/leases.ts";
import { WORKER_LIVENESS_MS } from "#shared/protocol/limits.ts";
import type { Lane } from "#shared/protocol/schema/worker.ts";
import type { FleetContext } from "../context.ts";
import { assignsNothing } from "./hub-shortage.ts";
import type { LaneContext } from "./link-contexts.ts";
import type { LanePlace } from "./parts.ts";
import { chooseWorker } from "./schedule.ts";
import { type HeldLane, heardOf, newHeld, type WorkerLink } from "./worker-link.ts";

/** Whether this hub may lease a lane of the worker now. */
const hasLane = (link: WorkerLink): boolean => link.open && link.freeCount() > 0;

/** Assignments that can be made right now, counted up to `most`. */
export function freeCapacity(
  ctx: Pick<FleetContext, "draining" | "disk_room" | "links">,
  most: number,
): number {
  if (assignsNothing(ctx)) return 0;
  let free = 0;
  for (const link of ctx.links.values()) {
    if (!link.open || link.status !== "active") continue;
    free += Math.max(0, Math.min(link.freeCount(), link.max_concurrent - link.in_flight));
    if (free >= most) return most;
  }
  return free;
}

/**
 * What wants a lane: a job or, with `job_id` null, an independent session. `only`: no other worker will do; `fits`:
 * which workers qualify.
 */
export interface WantedLane<J extends string | null> {
  job_id: J;
  session_id: string;
  only?: string | null;
  fits?: (link: WorkerLink) => boolean;
}

/**
 * Leases a free lane on the worker that the scheduling rules choose (rules/scheduling#lane-leases). The lease store
 * decides; what this hub believes about a worker only sets the order of asking. A lane that is being asked for counts
 * as taken, so several callers may ask at once.
 * @returns null when no worker has a lane to give, or the hub assigns nothing.
 */
export async function holdLane<J extends string | null>(
  ctx: LaneContext,
  { job_id, session_id, only = null, fits = () => true }: WantedLane<J>,
): Promise<LanePlace<J> | null> {
  const refused = new Set<WorkerLink>();
  const can = (link: WorkerLink) =>
    (only === null || link.worker_id === only) && hasLane(link) && !refused.has(link) && fits(link);
  while (!assignsNothing(ctx)) {
    const link = chooseWorker([...ctx.links.values()], ctx.clock.monotonic(), ctx.random, can);
    if (!link) return null;
    let lease: LaneLease | null;
    link.asked += 1;
    try {
      lease = await acquireLane(ctx, link, job_id, session_id);
    } finally {
      link.asked -= 1;
    }
    if (!lease || link.closed) {
      refused.add(link);
      if (lease) await releaseLane(ctx, link, lease);
      continue;
    }
    const { held, settle } = newHeld({ ...lease, job_id });
    link.held.set(lease.lane_idx, held);
    ctx.hooks.laneTaken();
    return { link, held, settle };
  }
  return null;
}

async function acquireLane(
  ctx: Pick<FleetContext, "leases">,
  link: WorkerLink,
  job_id: string | null,
  session_id: string,
): Promise<LaneLease | null> {
  try {
    return await ctx.leases.acquire({
      worker_id: link.worker_id,
      lanes: link.freeLanes(),
      max_concurrent: link.max_concurrent,
      job_id,
      session_id,
      ttl_ms: WORKER_LIVENESS_MS,
    });
  } catch (err) {
    link.unsure.add(session_id);
    throw err;
  }
}

/** The lane said warm and did not take what it was given: it counts as taken until the worker mentions it again. */
export function distrustLane(link: WorkerLink, lane_idx: number, reason: string): void {
  const lane = link.lanes.get(lane_idx);
  if (lane) link.lanes.set(lane_idx, { ...lane, state: "resetting", reason });
}

/** Gives the lane back and asks for the next job. */
export async function freeLane(
  ctx: Pick<FleetContext, "signal" | "hooks" | "leases" | "log">,
  link: WorkerLink,
  held: HeldLane,
): Promise<void> {
  const { lane_idx } = held.lease;
  if (link.held.get(lane_idx) === held) link.held.delete(lane_idx);
  await releaseLane(ctx, link, held.lease);
  ctx.signal("lane freed", { worker_id: link.worker_id, lane_idx });
  if (!link.closed) ctx.hooks.laneFree();
}

/** Never rejects: a lease that the store could not take back is released by `retryReleasesOnce`. */
async function releaseLane(
  ctx: Pick<FleetContext, "leases" | "log">,
  link: WorkerLink,
  lease: LaneLease,
): Promise<void> {
  const { worker_id, lane_idx, token } = lease;
  try {
    await ctx.leases.release(worker_id, lane_idx, token);
  } catch (err) {
    link.unreleased.add(lease);
    ctx.log.warn({ worker_id, lane_idx, err }, "lease could not be released; will try again soon");
  }
}

/** Gives back what the lease store could not take while it was away, so that no lane waits for its lease to expire. */
export async function retryReleasesOnce(
  ctx: Pick<FleetContext, "links" | "leases" | "hooks" | "dispatcher">,
): Promise<void> {
  const behind = [...ctx.links.values()].filter((l) => l.unreleased.size > 0 || l.unsure.size > 0);
  for (const link of behind) {
    for (const lease of [...link.unreleased]) {
      await ctx.leases.release(lease.worker_id, lease.lane_idx, lease.token);
      link.unreleased.delete(lease);
    }
    if (link.unsure.size > 0) await releaseUnknown(ctx, link);
    ctx.hooks.laneFree();
  }
}

/**
 * Leases whose grant was lost with the store's answer: nobody holds them. None is granted meanwhile, so none is too
 * new.
 */
const releaseUnknown = (
  ctx: Pick<FleetContext, "dispatcher" | "leases">,
  link: WorkerLink,
): Promise<void> =>
  ctx.dispatcher.exclusive(async () => {
    const stored = await ctx.leases.list(link.worker_id);
    const known = new Set([...link.held.values()].map((held) => held.lease.token));
    for (const { worker_id, lane_idx, token, session_id } of stored)
      if (link.unsure.has(session_id) && !known.has(token))
        await ctx.leases.release(worker_id, lane_idx, token);
    link.unsure.clear();
  });

/** A lane in one of these states, without a job, will not run what was leased on it. */
const OVER: readonly Lane["state"][] = ["warm", "quarantined", "dead"];

/** Records what the worker says about one lane; frees its lease when the run on it is over. */
export async function laneChanged(
  ctx: Pick<FleetContext, "hooks" | "signal" | "leases" | "log">,
  link: WorkerLink,
  lane: Lane,
): Promise<void> {
  link.lanes.set(lane.lane_idx, lane);
  link.untold = true;
  const held = link.held.get(lane.lane_idx);
  const over = OVER.includes(lane.state) && lane.job_id === null;
  // Before JobAccepted the message is older than the assignment: the lane was warm, and is about to run. The same holds
  // when the message comes again because the hub that first received it is gone.
  if (held?.accepted && !held.unheard && over) await endLease(ctx, link, held);
  else if (!held && lane.state === "warm") ctx.hooks.laneFree();
}

async function endLease(
  ctx: Pick<FleetContext, "hooks" | "signal" | "leases" | "log">,
  link: WorkerLink,
  held: HeldLane,
): Promise<void> {
  await ctx.hooks.laneOver(link, held);
  await freeLane(ctx, link, held);
}

/**
 * Compares the leases with a heartbeat's lanes. When two heartbeats in a row show a lane without its job, a LaneChanged
 * was lost; a single heartbeat may have left before the assignment arrived.
 */
export async function reconcileLanes(
  ctx: Pick<FleetContext, "hooks" | "signal" | "leases" | "log">,
  link: WorkerLink,
  lanes: readonly Lane[],
): Promise<void> {
  for (const [token, { done }] of link.uploading) if (done) link.uploading.delete(token);
  const reported = new Map(lanes.map((lane) => [lane.lane_idx, lane]));
  for (const lane_idx of link.lanes.keys())
    if (!reported.has(lane_idx)) link.lanes.delete(lane_idx);
  let opened = false;
  for (const lane of lanes) {
    opened ||= lane.state === "warm" && link.lanes.get(lane.lane_idx)?.state !== "warm";
    link.lanes.set(lane.lane_idx, lane);
  }
  for (const held of [...link.held.values()]) {
    // Heartbeats are never repeated, and repeated messages come before them.
    heardOf(held);
    const lane = reported.get(held.lease.lane_idx);
    const idle = !lane || (OVER.includes(lane.state) && lane.job_id === null);
    held.idle_beats = idle && held.accepted ? held.idle_beats + 1 : 0;
    if (held.idle_beats >= 2) await endLease(ctx, link, held);
  }
  if (opened) ctx.hooks.laneFree();
}
