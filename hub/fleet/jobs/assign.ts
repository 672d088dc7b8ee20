import type { QueuedModes } from "#hub/platform/db/fleet-types.ts";
import type { JobRow } from "#hub/platform/db/rows.ts";
import { newSessionId } from "#shared/protocol/ids.ts";
import type { FleetContext } from "../context.ts";
import { distrustLane, freeCapacity, freeLane, holdLane } from "../links/lanes.ts";
import { wayOutFits } from "../links/way-out.ts";
import type { JobLane, WorkerLink } from "../links/worker-link.ts";
import { dropSession } from "../sessions/registry.ts";
import type { SessionEndContext } from "../sessions/session-contexts.ts";
import { isAttached, runAttached } from "./attach.ts";
import { claimFor, deliver } from "./deliver.ts";
import { leaveToBetter, wantedElsewhere } from "./elsewhere.ts";
import { tell } from "./events.ts";
import type { JobAssignContext } from "./job-contexts.ts";
import { addJobSession } from "./job-sessions.ts";
import { workersFor } from "./local-only.ts";
import { hasFreeRunner, isScripted, mayTakeLane, waitsForProof } from "./scripted.ts";

/** How many jobs one read of the queue returns. */
const BATCH = 64;

/**
 * Gives queued jobs to free lanes, oldest first, while there are both. Deliveries go on in the background.
 * Runs inside `ctx.dispatcher`.
 * @returns how many jobs got a lane.
 */
export async function assignQueued(
  ctx: JobAssignContext,
  created_before: number,
  most = Number.POSITIVE_INFINITY,
  wanted_modes: QueuedModes = "all",
): Promise<number> {
  let given = 0;
  await hasFreeRunner(ctx);
  // Jobs that only some workers can run, all of them busy: the jobs behind them are not held up.
  const waiting = new Set<string>();
  for (;;) {
    const room = freeCapacity(ctx, Math.min(BATCH, most - given));
    if (room === 0) return given;
    const wanted = room + waiting.size;
    const scripted_before = mayTakeLane(ctx);
    if (wanted_modes === "scripted" && scripted_before === null) return given;
    const modes = scripted_before === null ? "fetch" : wanted_modes;
    const rows = await ctx.db.jobs.oldestQueued(
      created_before,
      wanted,
      modes,
      scripted_before ?? undefined,
    );
    const outcomes = await assignJobs(
      ctx,
      rows.filter((row) => !waiting.has(row.job_id)),
    );
    for (const [job_id, outcome] of outcomes) {
      if (outcome === "given") given += 1;
      if (outcome === "waits") waiting.add(job_id);
    }
    if (rows.length < wanted || [...outcomes.values()].includes("full")) return given;
  }
}

/** Gives lanes to the jobs that redrive picks (rules/scheduling#redrive). Runs inside `ctx.dispatcher`. */
export function assignAged(ctx: JobAssignContext): Promise<number> {
  const { redrive_min_age_ms, redrive_max_per_pass } = ctx.config.queue;
  const most = redrive_max_per_pass || Number.POSITIVE_INFINITY;
  return assignQueued(ctx, ctx.wall_jumps.olderThan(redrive_min_age_ms), most);
}

type Outcome = "given" | "lost" | "full" | "waits";

/**
 * Gives lanes to these jobs. Workers are chosen in the order of the jobs, and the stores are asked for many at once,
 * which costs little more than asking for one.
 */
async function assignJobs(
  ctx: JobAssignContext,
  rows: readonly JobRow[],
): Promise<Map<string, Outcome>> {
  const outcomes = new Map<string, Outcome>();
  const assign = async (row: JobRow) => void outcomes.set(row.job_id, await assignJob(ctx, row));
  let together: JobRow[] = [];
  const assignTogether = async () => {
    const settled = await Promise.allSettled(together.map(assign));
    together = [];
    for (const one of settled) if (one.status === "rejected") throw one.reason;
  };
  for (const row of rows) {
    if (!isScripted(row)) {
      together.push(row);
      continue;
    }
    // Depends on the lanes that are left. The jobs behind it are not held up: the next read leaves it out.
    await assignTogether();
    const before = mayTakeLane(ctx);
    if (before !== null && row.created_at <= before) await assign(row);
  }
  await assignTogether();
  return outcomes;
}

/**
 * Without pull-on-free only jobs whose POST still waits, here or at another hub, get a lane here; redrive takes the
 * others (rules/scheduling#freed-lanes). Those old enough for redrive come first: under steady load no lane is free
 * when its loop looks.
 */
export async function assignWaiting(ctx: JobAssignContext): Promise<void> {
  const waiting = new Set([...ctx.waiters.keys(), ...wantedElsewhere(ctx)]);
  if (ctx.config.queue.redrive && waiting.size > 0) await assignAged(ctx);
  for (const job_id of waiting) {
    if (freeCapacity(ctx, 1) === 0) return;
    const row = await ctx.db.jobs.get(job_id);
    if (row?.status === "queued" && (await assignJob(ctx, row)) === "full") return;
  }
  // These had their POST answered at once.
  await assignQueued(ctx, Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY, "scripted");
}

/** Claims the job for a free lane and sends it. */
async function assignJob(ctx: JobAssignContext, queued: JobRow): Promise<Outcome> {
  if (isAttached(queued)) return runAttached(ctx, queued);
  if (waitsForProof(ctx, queued)) return "waits";
  const { job_id } = queued;
  const session_id = newSessionId();
  const may = [workersFor(queued), wayOutFits(queued.options)].filter((rule) => rule !== null);
  const fits =
    may.length === 0 ? null : (worker: WorkerLink) => may.every((allows) => allows(worker));
  if (!fits && leaveToBetter(ctx, job_id)) return "waits";
  const place = await holdLane(ctx, { job_id, session_id, ...(fits && { fits }) });
  if (!place) return fits ? "waits" : "full";
  const { link, held, settle } = place;
  if (isScripted(queued)) ctx.scripted.lanes.set(held, link);
  if (queued.options.prove_in_replay) ctx.scripted.proving.add(held);
  try {
    const row = await claimFor(ctx, job_id, held);
    if (row) {
      ctx.cluster.unplaced.delete(job_id);
      deliver(ctx, {
        link,
        held,
        row,
        settle,
        in_session: null,
        accepted: () => addJobSession(ctx, link, held, row),
        // Back to the queue, whatever the reason.
        refused: (reason) => takeBack(ctx, link, held, reason),
      });
      return "given";
    }
    await freeLane(ctx, link, held);
  } catch (err) {
    await freeLane(ctx, link, held).finally(settle);
    throw err;
  }
  settle();
  return "lost";
}

/**
 * The assignment did not arrive: the claim is reverted and the next pass tries again
 * (rules/scheduling#assignments-taken-back).
 */
async function takeBack(
  ctx: SessionEndContext &
    Pick<FleetContext, "bus" | "cluster" | "dispatcher" | "hooks" | "leases" | "waiters">,
  link: WorkerLink,
  held: JobLane,
  reason: string,
): Promise<void> {
  const { job_id, token, lane_idx } = held.lease;
  held.done = true;
  // A worker that takes it after all must not run it alongside the next worker.
  link.send({ type: "HubCancelJob", job_id, lease_token: token, reason });
  const session = ctx.sessions.get(held.lease.session_id);
  if (session) await dropSession(ctx, session, reason);
  distrustLane(link, lane_idx, reason);
  ctx.log.warn({ job_id, worker_id: link.worker_id, lane_idx, reason }, "assignment taken back");
  try {
    if (await ctx.db.jobs.unclaim(job_id, token)) {
      ctx.meters.taken_back.inc();
      await tell(ctx, job_id, "warn", "assigned", `not delivered, back in the queue: ${reason}`);
      ctx.signal("job requeued", { job_id });
    }
    if (ctx.waiters.has(job_id)) ctx.cluster.unplaced.add(job_id);
    // Perhaps another hub's worker takes it.
    ctx.cluster.wake([]);
  } finally {
    // The reconciler finds a row that could not be reverted: it is running and no lane holds it.
    await freeLane(ctx, link, held);
    ctx.dispatcher.kick();
  }
}
