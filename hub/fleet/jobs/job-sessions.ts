import type { JobRow } from "#hub/platform/db/rows.ts";
import { SESSION_TTL_S } from "#shared/protocol/limits.ts";
import type { FleetContext } from "../context.ts";
import type { JobLane, WorkerLink } from "../links/worker-link.ts";
import { endSession } from "../sessions/end.ts";
import type { HubSession } from "../sessions/hub-session.ts";
import { recordOpened } from "../sessions/past.ts";
import { addSession, dropSession, keepSessionForNext, touchSession } from "../sessions/registry.ts";
import type { SessionAddContext, SessionEndContext } from "../sessions/session-contexts.ts";
import type { JobReleaseContext } from "./job-contexts.ts";
import { stopScript } from "./scripted.ts";

/** How long a session that a keep_session job left behind may be idle (rules/sessions#idle-time). */
export const KEPT_IDLE_MS = SESSION_TTL_S.kept_default * 1_000;

/** Every job that a worker has accepted has a session: its viewer, and actions on its page (rules/jobs#session-of-a-job). */
export const addJobSession = (
  ctx: SessionAddContext,
  link: WorkerLink,
  held: JobLane,
  row: JobRow,
): Promise<HubSession> =>
  addSession(ctx, {
    session_id: held.lease.session_id,
    kind: "job",
    link,
    held,
    job_id: row.job_id,
    headless: row.options.headless,
    egress: row.options.egress,
    proxy: row.options.proxy,
    replay: row.options.replay ?? null,
    idle_ttl_ms: null,
    keep_ms: row.options.keep_session ? KEPT_IDLE_MS : null,
    url: row.url,
  });

/**
 * The job has reached a terminal state: its session ends (rules/jobs#session-of-a-job), or, when the worker itself reported
 * the end of a keep_session or attached job, stays open for a person (rules/jobs#keep-the-session).
 */
export async function releaseJobSession(
  ctx: JobReleaseContext,
  row: Pick<JobRow, "job_id" | "session_id" | "status">,
  reported: boolean,
): Promise<void> {
  stopScript(ctx, row.job_id, row.status);
  const session = row.session_id === null ? undefined : ctx.sessions.get(row.session_id);
  if (session?.kind !== "job" || session.job_id !== row.job_id) return;
  if (reported && session.keep_ms !== null && !session.link.closed) await keepSession(ctx, session);
  else await dropSession(ctx, session, `job ${row.status}`);
}

/**
 * From now on no job owns the session; it has an idle TTL and a new absolute one. The lane stays leased until it ends.
 */
export async function keepSession(
  ctx: Pick<FleetContext, "clock" | "config" | "db" | "kept" | "log" | "wall_jumps">,
  session: HubSession,
): Promise<void> {
  session.kind = "kept";
  session.idle_ttl_ms = session.keep_ms ?? KEPT_IDLE_MS;
  session.expires_at = ctx.clock.monotonic() + SESSION_TTL_S.ttl_default * 1_000;
  touchSession(ctx, session);
  await keepSessionForNext(ctx, session);
  await recordOpened(ctx, session);
}

/** A deleted job leaves no browser behind. */
export async function endKeptSession(
  ctx: SessionEndContext,
  row: Pick<JobRow, "job_id" | "session_id">,
): Promise<void> {
  const session = row.session_id === null ? undefined : ctx.sessions.get(row.session_id);
  // Another job may run in it by now, or have run in it last.
  if (session?.kind === "kept" && session.job_id === row.job_id)
    await endSession(ctx, session, "its job was deleted");
}
