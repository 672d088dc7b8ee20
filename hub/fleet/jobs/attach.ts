import type { JobRow } from "#hub/platform/db/rows.ts";
import { conflict, invalid } from "#shared/kit/errors.ts";
import { LIST_LIMIT } from "#shared/protocol/limits.ts";
import type { JobOptions } from "#shared/protocol/schema/job.ts";
import type { FleetContext } from "../context.ts";
import { laneChanged } from "../links/lanes.ts";
import { type JobLane, newHeld } from "../links/worker-link.ts";
import type { HubSession } from "../sessions/hub-session.ts";
import { findOwner } from "../sessions/places.ts";
import type { OwnerContext } from "../sessions/session-contexts.ts";
import { claimFor, deliver } from "./deliver.ts";
import { announceEnd } from "./events.ts";
import type { JobAttachContext, JobEndContext } from "./job-contexts.ts";
import { KEPT_IDLE_MS, keepSession } from "./job-sessions.ts";
import { hasFreeRunner, isScripted } from "./scripted.ts";

/**
 * `attach_to_job` (rules/jobs#run-in-the-browser-of-another-job): a job runs in the browser that an earlier
 * keep_session job left open, on that lane, with its cookies and logins. The lane's lease goes from one job to the next
 * without being free in between, so an attached job needs no free lane. When it ends, the session stays open as before.
 */

export const isAttached = (row: JobRow): boolean => row.options.attach_to_job !== null;

/**
 * Checks that a new job has a session to run in, here or at another hub.
 * @throws AppError invalid when there is no such job, conflict when its browser is gone or in use.
 */
export async function requireAttachable(
  ctx: OwnerContext & Pick<FleetContext, "db">,
  { attach_to_job }: JobOptions,
): Promise<void> {
  if (attach_to_job === null) return;
  const job = await ctx.db.jobs.get(attach_to_job);
  if (!job) throw invalid(["body", "options", "attach_to_job"], "there is no such job");
  const found = attachable(ctx, job);
  if (typeof found !== "string") return;
  if (job.session_id === null || !(await findOwner(ctx, job.session_id))) throw conflict(found);
  const busy = await jobIn(ctx, job);
  if (busy) throw conflict(laneBusy(job.job_id, busy));
}

const laneBusy = (job_id: string, with_job: string): string =>
  `the lane of job ${job_id} is busy with job ${with_job}`;

/** The job that runs in the session of `job` at another hub. A worker runs a few jobs at a time. */
async function jobIn(ctx: Pick<FleetContext, "db">, job: JobRow): Promise<string | null> {
  if (job.worker_id === null) return null;
  const { worker_id } = job;
  const running = await ctx.db.jobs.list(
    { status: "running", worker_id, limit: LIST_LIMIT.max },
    null,
  );
  return running.find(({ session_id }) => session_id === job.session_id)?.job_id ?? null;
}

/** The kept session of the job, or a sentence that says why none is available. */
function attachable(
  ctx: Pick<FleetContext, "sessions">,
  { job_id, session_id }: JobRow,
): HubSession | string {
  const session = session_id === null ? undefined : ctx.sessions.get(session_id);
  if (!session)
    return `the session of job ${job_id} has ended: only a keep_session job leaves its browser open, until the session's TTL`;
  if (session.kind === "job") return laneBusy(job_id, session.job_id ?? "");
  return session;
}

/**
 * Hands the lane of the named job to this one and sends the job. Runs inside `ctx.dispatcher`. A job whose browser has
 * gone meanwhile fails: no other lane would do.
 */
export async function runAttached(
  ctx: JobAttachContext,
  queued: JobRow,
): Promise<"given" | "lost" | "waits"> {
  const { job_id } = queued;
  if (ctx.draining.aborted) return "waits";
  if (isScripted(queued) && !(await hasFreeRunner(ctx))) {
    ctx.scripted.attached.add(job_id);
    return "waits";
  }
  const target = await ctx.db.jobs.get(queued.options.attach_to_job ?? "");
  const session = target ? attachable(ctx, target) : "the job it was to be attached to is gone";
  if (typeof session === "string") {
    // Its worker is on its way to this hub; a pass comes when it is here.
    if (target?.session_id && ctx.awaited.sessions.has(target.session_id)) return "waits";
    const owner = target?.session_id ? await findOwner(ctx, target.session_id) : null;
    if (!owner) return failQueued(ctx, queued, session);
    ctx.cluster.tell({ type: "attach", to: owner.hub_id, job_id });
    return "waits";
  }
  // No await between the check and this line: the reaper leaves a job's session alone.
  session.kind = "job";
  session.job_id = queued.job_id;
  session.idle_ttl_ms = null;
  session.keep_ms ??= KEPT_IDLE_MS;
  const held = await takeOver(ctx, session, queued.job_id);
  if (held === null) return failQueued(ctx, queued, "the session it was to run in has ended");
  if (isScripted(queued)) ctx.scripted.lanes.set(held.lane, session.link);
  const row = await claimFor(ctx, queued.job_id, held.lane).catch((err) => {
    giveBack(ctx, session, held);
    throw err;
  });
  if (!row) {
    giveBack(ctx, session, held);
    return "lost";
  }
  const { lane, settle } = held;
  deliver(ctx, {
    link: session.link,
    held: lane,
    row,
    settle,
    in_session: session,
    accepted: async () => {
      session.worker_token = lane.lease.token;
    },
    refused: (reason) => fail(ctx, session, lane, row, reason),
  });
  return "given";
}

/** Attached jobs that waited for a runner. Runs inside `ctx.dispatcher`. */
export async function runAttachedScripts(ctx: JobAttachContext): Promise<void> {
  for (const job_id of [...ctx.scripted.attached]) {
    if (!(await hasFreeRunner(ctx))) return;
    ctx.scripted.attached.delete(job_id);
    const row = await ctx.db.jobs.get(job_id);
    if (row?.status === "queued") await runAttached(ctx, row);
  }
}

interface TakenLane {
  lane: JobLane;
  settle: () => void;
}

/** The lane under a new lease; null when the session ended while the store decided. */
async function takeOver(
  ctx: Pick<FleetContext, "leases" | "hooks" | "signal" | "log">,
  session: HubSession,
  job_id: string,
): Promise<TakenLane | null> {
  const { link, lane_idx, held: before } = session;
  const lease = await ctx.leases
    .handOver(link.worker_id, lane_idx, before.lease.token, job_id)
    .catch((err) => {
      link.unsure.add(session.session_id);
      throw err;
    });
  if (lease === null) return null;
  const { held: lane, settle } = newHeld({ ...lease, job_id });
  if (session.ended.aborted || link.closed || link.held.get(lane_idx) !== before) {
    // The old lease is being given back and no longer holds the lane: the new lease is the one that will be freed.
    lane.accepted = lane.done = true;
    settle();
    if (link.closed) return null;
    link.held.set(lane_idx, lane);
    // The lane may have said warm by now.
    const reported = link.lanes.get(lane_idx);
    if (reported) await laneChanged(ctx, link, reported);
    return null;
  }
  // The worker has the lane already: should the browser end now, `warm` gives it back.
  lane.accepted = true;
  link.held.set(lane_idx, lane);
  session.held = lane;
  return { lane, settle };
}

/** Nothing was sent: the session is unchanged, but under the new lease. */
function giveBack(
  ctx: Pick<FleetContext, "clock" | "config" | "db" | "kept" | "log" | "wall_jumps">,
  session: HubSession,
  { lane, settle }: TakenLane,
): void {
  lane.done = true;
  if (!session.ended.aborted) void keepSession(ctx, session);
  settle();
}

/** Not accepted: the job fails, because no other lane would do; the session stays open if it still is. */
async function fail(
  ctx: JobEndContext,
  session: HubSession,
  lane: JobLane,
  { job_id }: JobRow,
  reason: string,
): Promise<void> {
  const { token } = lane.lease;
  if (!lane.done) session.link.send({ type: "HubCancelJob", job_id, lease_token: token, reason });
  lane.done = true;
  const ended = await ctx.db.jobs.finish(job_id, token, {
    status: "failed",
    error: `could not be attached: ${reason}`,
    now: ctx.clock.now(),
  });
  if (ended) await announceEnd(ctx, ended, true);
}

async function failQueued(ctx: JobEndContext, { job_id }: JobRow, error: string): Promise<"lost"> {
  const now = ctx.clock.now();
  const row = await ctx.db.jobs.finishQueued(job_id, { status: "failed", error, now });
  if (row) await announceEnd(ctx, row);
  return "lost";
}
