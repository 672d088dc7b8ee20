import type { JobRow } from "#hub/platform/db/rows.ts";
import { isTerminal } from "#shared/protocol/schema/job.ts";
import type { FleetContext } from "../context.ts";
import { betterHub, isStillBetter, LEAVE_MS } from "../links/candidate.ts";
import { findOwner } from "../sessions/places.ts";
import type { OwnerContext } from "../sessions/session-contexts.ts";

/** Jobs and the other hubs: whom to tell, whom to wait for, and which jobs to leave to a better hub. */

/** How long this hub assumes that a POST still waits at another hub after that hub last said so. */
export const WANTED_MS = 6_000;
/** How often a waiting POST checks for itself, because messages may be lost. */
const LOOK_MS = 2_500;

/** Whether a worker of this hub runs the job: then everything about it happens here. */
export function isHeldHere(ctx: Pick<FleetContext, "links">, job_id: string): boolean {
  for (const link of ctx.links.values())
    if (link.jobLanes().some((held) => held.lease.job_id === job_id)) return true;
  return false;
}

/** A worker has accepted the job: its POST is answered, wherever it waits. */
export function announceTaken(ctx: Pick<FleetContext, "waiters" | "cluster">, row: JobRow): void {
  const waiter = ctx.waiters.get(row.job_id);
  if (waiter) waiter(row);
  else ctx.cluster.tell({ type: "job_taken", job_id: row.job_id });
}

/**
 * A job (rules/cluster#jobs-across-hubs) is left to a hub with a strictly better candidate, for LEAVE_MS at most. The
 * time counts from when this hub first left it, because the clocks of two hubs may differ.
 */
export function leaveToBetter(
  ctx: Pick<
    FleetContext,
    "clock" | "cluster" | "disk_room" | "dispatcher" | "draining" | "links" | "stopping"
  >,
  job_id: string,
): boolean {
  const { left } = ctx.cluster;
  const now = ctx.clock.monotonic();
  const before = left.get(job_id);
  // It is promised already: asking for a better hub would count it once more, and find that hub's lanes promised.
  if (before) return now - before.at < LEAVE_MS && isStillBetter(ctx, before.hub_id);
  const better = betterHub(ctx);
  if (!better) return false;
  better.left += 1;
  left.set(job_id, { hub_id: better.hub_id, at: now });
  ctx.cluster.wake([job_id]);
  void ctx.clock.sleep(LEAVE_MS, ctx.stopping).then(() => ctx.dispatcher.kick());
  return true;
}

/** Whether jobs are being left to better hubs right now. */
export function isLeavingJobs({
  cluster: { left },
  clock,
}: Pick<FleetContext, "cluster" | "clock">): boolean {
  for (const [job_id, { at }] of left)
    if (clock.monotonic() - at > 2 * LEAVE_MS) left.delete(job_id);
  return left.size > 0;
}

/** Tells the other hubs of the jobs that no lane of this one has taken. Runs after a pass. */
export function askOthers(ctx: Pick<FleetContext, "cluster">): void {
  const { unplaced, peers } = ctx.cluster;
  if (unplaced.size === 0 || peers.size === 0) return;
  ctx.cluster.wake(unplaced);
  unplaced.clear();
}

/** Jobs that a POST at another hub waits for. */
export function wantedElsewhere({
  cluster: { wanted },
  clock,
}: Pick<FleetContext, "cluster" | "clock">): string[] {
  for (const [job_id, until] of wanted) if (until < clock.monotonic()) wanted.delete(job_id);
  return [...wanted.keys()];
}

/**
 * Waits until the job is decided, wherever it runs; checks now and then, because messages may be lost.
 * @param ask called while it is still queued: the others are asked again.
 */
export async function decidedElsewhere(
  ctx: OwnerContext & Pick<FleetContext, "db" | "links">,
  row: JobRow,
  over: AbortSignal,
  ask: () => void,
): Promise<JobRow> {
  while (!over.aborted) {
    await ctx.clock.sleep(LOOK_MS, over);
    if (over.aborted || ctx.cluster.peers.size === 0) continue;
    const found = await lookElsewhere(ctx, row, ask).catch((err) => {
      ctx.log.warn({ job_id: row.job_id, err }, "a waiting job could not be looked for");
      return null;
    });
    if (found) return found;
  }
  return new Promise(() => {});
}

/** The row once it has ended or a worker of another hub has accepted it; null while it waits, or runs here. */
export async function lookElsewhere(
  ctx: OwnerContext & Pick<FleetContext, "db" | "links">,
  { job_id }: JobRow,
  ask: () => void = () => {},
): Promise<JobRow | null> {
  const now = await ctx.db.jobs.get(job_id);
  if (!now) return null;
  if (isTerminal(now.status)) return now;
  if (now.status === "queued") {
    ask();
    return null;
  }
  // Its session is known there from the moment the worker accepts the job.
  if (isHeldHere(ctx, job_id) || now.session_id === null) return null;
  return (await findOwner(ctx, now.session_id)) ? now : null;
}
