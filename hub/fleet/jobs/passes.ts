import type { JobRow } from "#hub/platform/db/rows.ts";
import { HEARTBEAT_INTERVAL_MS } from "#shared/protocol/limits.ts";
import type { FleetContext } from "../context.ts";
import { isAlive, readFleet } from "../links/view.ts";
import { serveWaiting } from "../sessions/waiting.ts";
import { assignAged, assignQueued, assignWaiting } from "./assign.ts";
import { runAttachedScripts } from "./attach.ts";
import { askOthers } from "./elsewhere.ts";
import { stopEndedOnce } from "./ended-elsewhere.ts";
import { announceEnd } from "./events.ts";
import { tellHeldBack } from "./held-back.ts";
import type {
  JobAssignContext,
  JobCancelContext,
  JobEndContext,
  JobFinishContext,
  JobReadContext,
} from "./job-contexts.ts";
import { waitedForLanes } from "./scripted.ts";
import { storeUnstoredOnce } from "./unstored.ts";
import { queueFacts, queueTimeout } from "./waiting-for.ts";

/** How many rows one read ends; the pass goes on until there are none. */
const BATCH = 200;
const MISSING_MS = 2 * HEARTBEAT_INTERVAL_MS;
/** A job may be stored by a hub whose clock is ahead. */
const ANY_AGE = Number.MAX_SAFE_INTEGER;
/** More running jobs than lanes a fleet can have, so that none hides behind long ones. */
const MAX_RUNNING = 20_000;

/** Redrive (rules/scheduling#redrive): jobs queued for `redrive_min_age_ms` get a free lane. */
export const redriveOnce = (ctx: JobAssignContext): Promise<number> =>
  ctx.dispatcher.exclusive(() => assignAged(ctx));

/**
 * Runs when a lane becomes free, a job arrives, or a session is wanted: whatever has waited longest is served first.
 */
export async function dispatchOnce(
  ctx: JobAssignContext & Pick<FleetContext, "lanes_wanted">,
): Promise<void> {
  if (ctx.config.queue.pull_on_free) {
    await serveWaiting(ctx, (since) => assignQueued(ctx, since));
    await assignQueued(ctx, ANY_AGE);
  } else {
    await assignWaiting(ctx);
    await serveWaiting(ctx, async () => {});
  }
  await runAttachedScripts(ctx);
  await tellHeldBack(ctx);
  askOthers(ctx);
}

/** Reconciler (rules/scheduling#reconciler): fails what waited too long, and what runs on a worker that is not alive. */
export async function reconcileOnce(ctx: JobReadContext & JobFinishContext): Promise<void> {
  await storeUnstoredOnce(ctx);
  await failOverdue(ctx);
  await failStale(ctx);
  if (ctx.cluster.shared) await stopEndedOnce(ctx);
}

async function failOverdue(ctx: JobReadContext & JobEndContext): Promise<void> {
  const { timeout_ms } = ctx.config.queue;
  const modes = (await waitedForLanes(ctx, timeout_ms)) ? "all" : "fetch";
  for (;;) {
    const now = ctx.clock.now();
    const rows = await ctx.db.jobs.oldestQueued(ctx.wall_jumps.olderThan(timeout_ms), BATCH, modes);
    const facts = rows.length > 0 ? await queueFacts(ctx) : null;
    let ended = 0;
    for (const waited of rows) {
      const { job_id } = waited;
      const error = await queueTimeout(ctx, waited, facts);
      const row = await ctx.db.jobs.finishQueued(job_id, { status: "failed", error, now });
      if (!row) continue;
      ended += 1;
      ctx.meters.overdue.inc();
      await announceEnd(ctx, row);
    }
    if (rows.length < BATCH || ended === 0) return;
  }
}

async function failStale(ctx: JobCancelContext & Pick<FleetContext, "fleet_cache">): Promise<void> {
  const now = ctx.clock.now();
  const before = ctx.wall_jumps.olderThan(ctx.config.stale.running_grace_ms);
  const old = await ctx.db.jobs.runningBefore(before, MAX_RUNNING);
  if (old.length === 0) return;
  const fleet = await readFleet(ctx);
  const alive = new Set(fleet.filter((e) => isAlive(ctx, e)).map((e) => e.worker_id));
  for (const worker_id of ctx.cluster.missing.keys())
    if (alive.has(worker_id)) ctx.cluster.missing.delete(worker_id);
  for (const { job_id, worker_id, lease_token } of old) {
    if (lease_token === null) continue;
    const error = whyStale(ctx, { job_id, worker_id, lease_token }, alive);
    if (error === null) continue;
    const row = await ctx.db.jobs.finish(job_id, lease_token, { status: "failed", error, now });
    if (row) await announceEnd(ctx, row);
  }
}

/** Null for a job that may still be running. */
function whyStale(
  ctx: Pick<FleetContext, "links" | "cluster" | "clock">,
  {
    job_id,
    worker_id,
    lease_token,
  }: Pick<JobRow, "job_id" | "worker_id"> & { lease_token: number },
  alive: ReadonlySet<string>,
): string | null {
  // Its hub was killed in the moment in which it stored what it had imported.
  if (worker_id === null) return "the hub that imported it is gone";
  const link = ctx.links.get(worker_id);
  // Its worker is alive, linked to this hub, and holds no lane for it: the write that ended the job was lost.
  if (link?.ready === true && !link.heldBy(job_id, lease_token))
    return `worker ${worker_id} holds no lane for the job`;
  return alive.has(worker_id) || !isMissing(ctx, worker_id)
    ? null
    : `worker ${worker_id} is not alive`;
}

/**
 * Other hubs' workers are known only from the shared store; an emptied store knows them again after their next
 * heartbeats. So with several hubs a worker counts as gone only when it has been missing for two heartbeats.
 */
function isMissing(
  { cluster: { peers, missing }, clock }: Pick<FleetContext, "cluster" | "clock">,
  worker_id: string,
): boolean {
  const since = missing.get(worker_id);
  if (since === undefined) missing.set(worker_id, clock.monotonic());
  return peers.size === 0 || (since !== undefined && clock.monotonic() - since > MISSING_MS);
}
