import type { JobRow } from "#hub/platform/db/rows.ts";
import { isoTime } from "#shared/kit/clock.ts";
import type { LaneHeld } from "#shared/protocol/link/messages.ts";
import type { JobLogEntry } from "#shared/protocol/schema/job.ts";
import type { FleetContext } from "../context.ts";
import { keptSession } from "../links/kept.ts";
import type { LeftLink } from "../links/left-link.ts";
import { lostError } from "../links/loss.ts";
import { type HeldLane, isJobLane, newHeld, type WorkerLink } from "../links/worker-link.ts";
import { addSession } from "../sessions/registry.ts";
import type { SessionAddContext } from "../sessions/session-contexts.ts";
import { isAttached } from "./attach.ts";
import { announceEnd, tell } from "./events.ts";
import type { JobEndContext, JobFinishContext } from "./job-contexts.ts";
import { KEPT_IDLE_MS } from "./job-sessions.ts";
import { isScripted } from "./scripted.ts";
import { storeUnstoredOnce } from "./unstored.ts";

/**
 * What a worker runs goes on at another hub, or after the next start of this one, under the same lease and in the same
 * session. Jobs that no worker brings back fail, and sessions end (rules/jobs#hub-restarts,
 * rules/sessions#sessions-over-hub-restarts).
 */

/** More than any worker has lanes. */
const MOST_RUNNING = 1_000;
/** How many stored events of a job to search for a line that comes again. */
const LOOK_BACK = 500;

/** One of the worker's holds, as a lane that this hub has leased. */
function holdAgain<J extends string | null>(
  link: WorkerLink,
  { exact }: LeftLink,
  { lane_idx, lease_token: token, session_id, uploading }: LaneHeld,
  job_id: J,
): HeldLane {
  const { worker_id } = link;
  const { held, settle } = newHeld({ worker_id, lane_idx, token, job_id, session_id });
  held.accepted = true;
  held.unheard = !exact;
  settle();
  if (uploading && isJobLane(held)) link.uploading.set(token, held);
  else link.held.set(lane_idx, held);
  return held;
}

/** Compares what the worker runs with what is stored; its leases belong to this link from now on. */
export async function takeUpRuns(
  ctx: JobEndContext,
  link: WorkerLink,
  left: LeftLink,
): Promise<void> {
  const { worker_id } = link;
  const query = { status: "running" as const, worker_id, limit: MOST_RUNNING };
  const rows = new Map((await ctx.db.jobs.list(query, null)).map((row) => [row.job_id, row]));
  for (const hold of left.holds) {
    const row = hold.job_id === null ? undefined : rows.get(hold.job_id);
    if (row && row.lease_token === hold.lease_token && !isScripted(row)) {
      rows.delete(row.job_id);
      await takeJob(ctx, link, hold, row.job_id, left);
    } else if (hold.job_id !== null) cancelRun(link, hold, hold.job_id);
    else if (!(await takeSession(ctx, link, hold, left))) closeSession(link, hold);
  }
  for (const row of rows.values()) await notHeld(ctx, link, row);
}

async function takeJob(
  ctx: SessionAddContext & Pick<FleetContext, "bus">,
  link: WorkerLink,
  hold: LaneHeld,
  job_id: string,
  left: LeftLink,
): Promise<void> {
  // Decides against the hub that led it, which may return and find that it lost its worker.
  const row = await ctx.db.jobs.takeUp(job_id, hold.lease_token, ctx.hub_id);
  if (row === null) return cancelRun(link, hold, job_id);
  const held = holdAgain(link, left, hold, job_id);
  held.stage = row.stage;
  if (!left.exact) held.stored_lines = await storedLines(ctx, job_id);
  const { worker_id } = link;
  const text = `the hub was started anew, worker ${worker_id} is back, and the job goes on`;
  await tell(ctx, job_id, "info", "link", text, { worker_id });
  if (row.options.replay) link.replays.add(row.options.replay);
  // Its session ended with its page.
  if (hold.uploading) return;
  const kept = isAttached(row) ? await keptSession(ctx, hold.session_id) : null;
  const keeps = row.options.keep_session || isAttached(row);
  await addSession(ctx, {
    session_id: hold.session_id,
    kind: "job",
    link,
    held,
    job_id,
    headless: row.options.headless,
    egress: kept ? (kept.egress ?? null) : row.options.egress,
    proxy: kept ? (kept.proxy ?? null) : row.options.proxy,
    replay: kept ? (kept.replay ?? null) : (row.options.replay ?? null),
    trace: kept?.trace ?? false,
    capture: kept?.capture ?? false,
    reconnect_ms: kept?.reconnect_ms ?? null,
    idle_ttl_ms: null,
    keep_ms: keeps ? (kept?.idle_ttl_ms ?? KEPT_IDLE_MS) : null,
    url: row.url,
  });
}

/** False when the session has ended, or was never open. */
async function takeSession(
  ctx: SessionAddContext,
  link: WorkerLink,
  hold: LaneHeld,
  left: LeftLink,
): Promise<boolean> {
  const kept = await keptSession(ctx, hold.session_id);
  if (kept?.worker_id !== link.worker_id || kept.lease_token !== hold.lease_token) return false;
  const { session_id, kind, job_id, headless, idle_ttl_ms, created_at, expires_at } = kept;
  const ttl_ms = expires_at - ctx.clock.now();
  if (ttl_ms <= 0) return false;
  const held = holdAgain(link, left, hold, job_id);
  held.done = isJobLane(held);
  const ttls = { idle_ttl_ms, keep_ms: kind === "kept" ? idle_ttl_ms : null, ttl_ms, created_at };
  const way_out = { egress: kept.egress ?? null, proxy: kept.proxy ?? null };
  const replay = kept.replay ?? null;
  if (replay !== null) link.replays.add(replay);
  const about = { session_id, kind, link, held, job_id, headless };
  const kept_of_it = {
    trace: kept.trace ?? false,
    capture: kept.capture ?? false,
    reconnect_ms: kept.reconnect_ms ?? null,
  };
  await addSession(ctx, { ...about, ...way_out, replay, ...kept_of_it, ...ttls });
  return true;
}

/** The job has ended or belongs to another lease by now, or only the hub that is gone could lead it. */
function cancelRun(link: WorkerLink, { lease_token }: LaneHeld, job_id: string): void {
  link.send({ type: "HubCancelJob", job_id, lease_token, reason: "the lease is stale" });
}

function closeSession(link: WorkerLink, { session_id, lease_token }: LaneHeld): void {
  const reason = "the session has ended";
  link.send({ type: "HubCloseSession", session_id, lease_token, reason });
}

/**
 * The worker does not run the job. A job that the worker never mentioned did not reach it and goes back to the queue,
 * as when a link ends before the answer; a scripted one was led by the hub that is gone.
 */
async function notHeld(ctx: JobEndContext, link: WorkerLink, row: JobRow): Promise<void> {
  const { job_id, lease_token } = row;
  const { worker_id } = link;
  if (lease_token === null) return;
  if (row.stage === null && (await ctx.db.jobs.unclaim(job_id, lease_token))) {
    const text = "not delivered, back in the queue: the hub was started anew";
    await tell(ctx, job_id, "warn", "assigned", text);
    ctx.signal("job requeued", { job_id });
    return;
  }
  const now = ctx.clock.now();
  const what = isScripted(row)
    ? "the hub that ran its script is gone"
    : "the job no longer ran there";
  const cause = `worker ${worker_id} came back at ${isoTime(now)}, and ${what}`;
  const end = { status: "failed" as const, error: lostError(cause), now };
  const ended = await ctx.db.jobs.finish(job_id, lease_token, end);
  if (ended) await announceEnd(ctx, ended);
}

const lineKey = ({ ts, stage, message }: Pick<JobLogEntry, "ts" | "stage" | "message">): string =>
  `${Math.round(ts)} ${stage} ${message}`;

async function storedLines(
  ctx: Pick<FleetContext, "db">,
  job_id: string,
): Promise<Map<string, number>> {
  const lines = new Map<string, number>();
  const last = await ctx.db.events.last(job_id, LOOK_BACK);
  for (const { ts, data } of last) {
    const { stage, message } = data as { stage?: unknown; message?: unknown };
    const key = lineKey({ ts, stage: String(stage), message: String(message) });
    lines.set(key, (lines.get(key) ?? 0) + 1);
  }
  return lines;
}

/** Leaves out the lines that the previous hub had stored when it was killed. */
export function newLines(held: HeldLane, entries: readonly JobLogEntry[]): JobLogEntry[] {
  const stored = held.stored_lines;
  if (stored === undefined) return [...entries];
  return entries.filter((entry) => {
    const key = lineKey(entry);
    const count = stored.get(key) ?? 0;
    if (count > 0) stored.set(key, count - 1);
    return count === 0;
  });
}

/** This hub is stopping: scripts, which only it can lead, end with it; the next hub takes everything else. */
export async function leaveRuns(ctx: JobFinishContext, link: WorkerLink): Promise<void> {
  await storeUnstoredOnce(ctx);
  for (const held of link.jobLanes()) {
    if (held.done || !ctx.scripted.lanes.has(held)) continue;
    held.done = true;
    const { job_id, token: lease_token } = held.lease;
    const now = ctx.clock.now();
    const cause = `the hub that ran its script stopped at ${isoTime(now)}`;
    const end = { status: "failed" as const, error: lostError(cause), now, stage: held.stage };
    link.send({ type: "HubCancelJob", job_id, lease_token, reason: "the hub is stopping" });
    const row = await ctx.db.jobs.finish(job_id, lease_token, end);
    if (row) await announceEnd(ctx, row);
  }
}
