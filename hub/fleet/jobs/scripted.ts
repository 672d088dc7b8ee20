import type { JobRow } from "#hub/platform/db/rows.ts";
import type { JobStatus } from "#shared/protocol/schema/job.ts";
import type { Lane } from "#shared/protocol/schema/worker.ts";
import type { FleetContext } from "../context.ts";
import { freeCapacity } from "../links/lanes.ts";
import type { HeldLane, WorkerLink } from "../links/worker-link.ts";
import { fleetSetting } from "../registries/fleet-settings.ts";
import type { Scripted } from "./parts.ts";
import { ScriptStopped } from "./parts.ts";

/** Jobs whose page a script drives (rules/scripts#start-of-a-scripted-job): which run, and when the next one may. */

export const newScripted = (): Scripted => ({
  lanes: new Map(),
  ended: new WeakSet(),
  proving: new WeakSet(),
  runs: new Map(),
  attached: new Set(),
  most: 0,
  full_at: Number.NEGATIVE_INFINITY,
  reserve: { ms: 0, looked_at: Number.NEGATIVE_INFINITY, due_at: Number.POSITIVE_INFINITY },
});

export const isScripted = ({ mode }: Pick<JobRow, "mode">): boolean => mode !== "fetch";

/** Lanes that scripted jobs have. */
function heldLanes({ scripted: { lanes } }: Pick<FleetContext, "scripted">): MapIterator<HeldLane> {
  for (const [held, link] of lanes)
    if (held.done || link.held.get(held.lease.lane_idx) !== held) lanes.delete(held);
  return lanes.keys();
}

/** Scripted jobs that have a runner of this hub: from the lease of their lane to the job's end. */
function countRuns(ctx: Pick<FleetContext, "scripted">): number {
  const { lanes, runs } = ctx.scripted;
  heldLanes(ctx);
  // A stopped script is still being taken down.
  return Math.max(lanes.size, runs.size);
}

/**
 * Whether a runner of this hub is free (rules/scheduling#runners, setting max_concurrent_runs). Reads the settings it
 * needs.
 */
export async function hasFreeRunner(
  ctx: Pick<FleetContext, "scripted" | "config" | "clock" | "db" | "settings_cache">,
): Promise<boolean> {
  const { scripted, config } = ctx;
  scripted.most = await fleetSetting(ctx, "max_concurrent_runs");
  const reserve_ms = 1_000 * (await fleetSetting(ctx, "lane_reserve_s"));
  // From this age on, a queued job takes a free lane (rules/scheduling#redrive).
  scripted.reserve.ms = Math.min(reserve_ms, config.queue.redrive_min_age_ms);
  return runnerFree(ctx);
}

function runnerFree(ctx: Pick<FleetContext, "scripted" | "clock">): boolean {
  if (countRuns(ctx) < ctx.scripted.most) return true;
  ctx.scripted.full_at = ctx.clock.monotonic();
  return false;
}

const OUT_OF_USE: readonly Lane["state"][] = ["quarantined", "dead"];

/** Assignments that those of this hub's workers that `may` can have at a time, counted up to `most`. */
function places(
  ctx: Pick<FleetContext, "links">,
  most: number,
  may: (link: WorkerLink) => boolean = () => true,
): number {
  let count = 0;
  for (const link of ctx.links.values()) {
    const { ready, closed, status, lanes, max_concurrent } = link;
    if (!ready || closed || status !== "active" || !may(link)) continue;
    const usable = [...lanes.values()].filter(({ state }) => !OUT_OF_USE.includes(state)).length;
    count += Math.min(usable, max_concurrent);
    if (count >= most) return most;
  }
  return count;
}

/** Scripts run for minutes or days, so with two or more lanes the last free one is left to fetch jobs for a while. */
const isLastLane = (ctx: Pick<FleetContext, "draining" | "disk_room" | "links">): boolean =>
  freeCapacity(ctx, 2) < places(ctx, 2);

/**
 * Scripted jobs created at or before this may take a lane now; null when none may. `hasFreeRunner` must have been asked
 * in this pass. A job that has left the last lane to others for long enough is treated like a fetch job: oldest first.
 */
export function mayTakeLane(
  ctx: Pick<FleetContext, "clock" | "disk_room" | "draining" | "links" | "scripted" | "wall_jumps">,
): number | null {
  if (!runnerFree(ctx)) return null;
  return isLastLane(ctx)
    ? ctx.wall_jumps.olderThan(ctx.scripted.reserve.ms)
    : Number.MAX_SAFE_INTEGER;
}

/** Whether young scripted jobs wait only because they leave a free lane to fetch jobs. */
export const isReserving = (
  ctx: Pick<FleetContext, "scripted" | "clock" | "draining" | "disk_room" | "links">,
): boolean =>
  ctx.scripted.reserve.ms > 0 && runnerFree(ctx) && freeCapacity(ctx, 1) > 0 && isLastLane(ctx);

const replays = ({ capabilities }: WorkerLink): boolean => capabilities.replay === true;

/**
 * Whether a job that proves its scripts may have a lane here: another one is left that no such job holds. Each keeps
 * its own while it waits for the second, so with every lane they would wait for each other (rules/scripts#proof-in-replay).
 */
export function hasProofRoom(ctx: Pick<FleetContext, "scripted" | "links">): boolean {
  const { proving } = ctx.scripted;
  const needed = [...heldLanes(ctx)].filter((held) => proving.has(held)).length + 2;
  return places(ctx, needed, replays) >= needed;
}

/** Whether the job must wait until another one that proves its scripts has ended; as for a runner, however long. */
export function waitsForProof(
  ctx: Pick<FleetContext, "scripted" | "links" | "clock">,
  { options }: Pick<JobRow, "options">,
): boolean {
  if (!options.prove_in_replay || hasProofRoom(ctx)) return false;
  if (places(ctx, 2, replays) === 2) ctx.scripted.full_at = ctx.clock.monotonic();
  return true;
}

/**
 * Whether queued scripted jobs have waited that long for lanes and nothing else (rules/scheduling#queue-timeout): while
 * every runner is busy they wait for their turn, however long that takes.
 */
export async function waitedForLanes(
  ctx: Pick<FleetContext, "scripted" | "clock" | "cluster" | "db" | "config" | "settings_cache">,
  timeout_ms: number,
): Promise<boolean> {
  const { scripted, clock, cluster, db } = ctx;
  if (!(await hasFreeRunner(ctx))) return false;
  if (cluster.peers.size > 0 && (await db.jobs.runningScripts()) >= scripted.most)
    scripted.full_at = clock.monotonic();
  return clock.monotonic() - scripted.full_at >= timeout_ms;
}

/** The job's session ends: so does its script. */
export function stopScript(
  ctx: Pick<FleetContext, "scripted">,
  job_id: string,
  status: JobStatus,
): void {
  ctx.scripted.runs.get(job_id)?.stop(new ScriptStopped(status));
}

/** What follows from the end of a scripted job: no attempt stays open, and the next job may have the runner. */
export async function scriptedEnded(
  ctx: Pick<FleetContext, "scripted" | "cluster" | "clock" | "db" | "dispatcher">,
  row: JobRow,
): Promise<void> {
  const { scripted, cluster, clock, db, dispatcher } = ctx;
  const { job_id, status, error } = row;
  scripted.attached.delete(job_id);
  cluster.unplaced.delete(job_id);
  if (countRuns(ctx) + 1 >= scripted.most) scripted.full_at = clock.monotonic();
  const verdict = {
    class: status === "cancelled" ? ("cancelled" as const) : ("lane_lost" as const),
    ok: false,
    reason: status === "cancelled" ? "the job was cancelled" : (error ?? `the job ${status}`),
    advice: null,
    by: "rules" as const,
    engine: null,
  };
  await db.attempts.endOpen(job_id, verdict, clock.now());
  dispatcher.kick();
}
