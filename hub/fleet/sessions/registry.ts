import { isoTime } from "#shared/kit/clock.ts";
import { notFound } from "#shared/kit/errors.ts";
import type { EgressOption } from "#shared/protocol/egress.ts";
import { SESSION_TTL_S } from "#shared/protocol/limits.ts";
import { maskProxy, type ProxyOption } from "#shared/protocol/proxy.ts";
import type { Session } from "#shared/protocol/schema/session.ts";
import type { FleetContext } from "../context.ts";
import { forgetSession, rememberSession } from "../links/kept.ts";
import type { KeptSession } from "../links/parts.ts";
import type { HeldLane, WorkerLink } from "../links/worker-link.ts";
import { comingBack, type HubSession, SessionOver, standsAlone } from "./hub-session.ts";
import { recordEnded, recordOpened } from "./past.ts";
import { publishPlace, withdrawPlace } from "./places.ts";
import { reachableOrigin } from "./reach.ts";
import type { SessionAddContext, SessionEndContext } from "./session-contexts.ts";
import { createWatchers } from "./watchers.ts";

export interface AddSession {
  session_id: string;
  kind: HubSession["kind"];
  link: WorkerLink;
  held: HeldLane;
  job_id: string | null;
  headless: boolean;
  egress: EgressOption | null;
  proxy: ProxyOption | null;
  /** The job whose capture it shows. */
  replay: string | null;
  /** Whether it is traced as a whole; absent: it is not. */
  trace?: boolean;
  /** Whether its bodies are kept; absent: they are not. */
  capture?: boolean;
  /** Absent: it does not end with its CDP clients. */
  reconnect_ms?: number | null;
  idle_ttl_ms: number | null;
  /** For a job's session: the idle TTL with which it outlives the job; null when it does not. */
  keep_ms?: number | null;
  ttl_ms?: number;
  /** Epoch ms; now unless the session is older than this hub. */
  created_at?: number;
  /** Who asked for it; a job's session has nobody. */
  opened_by?: string | null;
  url?: string;
  title?: string;
}

/** The viewer of a session, relative to the hub (rules/jobs#viewer-address). */
export const viewerPath = (session_id: string): string =>
  `/sessions/${session_id}/novnc/?path=sessions/${session_id}/novnc/websockify` +
  "&autoconnect=1&resize=scale&reconnect=1";

/** The session's URLs answer from now on, before the promise settles. */
export async function addSession(ctx: SessionAddContext, input: AddSession): Promise<HubSession> {
  const { ttl_ms = SESSION_TTL_S.ttl_default * 1_000, replay, ...rest } = input;
  const ended = new AbortController();
  const now = ctx.clock.monotonic();
  const session: HubSession = {
    keep_ms: null,
    opened_by: null,
    trace: false,
    capture: false,
    reconnect_ms: null,
    blocked: null,
    url: "about:blank",
    title: "",
    ...rest,
    proxy: input.proxy && maskProxy(input.proxy),
    replay: replay === null ? null : { job_id: replay, answered: 0, missed_count: 0, missed: [] },
    lane_idx: input.held.lease.lane_idx,
    worker_token: input.held.lease.token,
    created_at: input.created_at ?? ctx.wall_jumps.wallOf(now),
    last_active_at: now,
    expires_at: now + ttl_ms,
    tabs: 1,
    dialogs: [],
    calls: 0,
    actions: 0,
    counted: 0,
    watchers: createWatchers(ctx.clock),
    webdriver: null,
    cdp: { clients: 0, came: false, left_at: now },
    ended: ended.signal,
    over: (why) => ended.abort(why),
  };
  ctx.sessions.set(session.session_id, session);
  ctx.meters.sessions_opened.inc({ kind: session.kind });
  // No other hub is asked for it, and nothing of it lasts.
  if (session.kind === "call") return session;
  await publishPlace(ctx, session, "taken");
  await keepSessionForNext(ctx, session);
  await recordOpened(ctx, session);
  return session;
}

/**
 * @throws AppError not_found: a session that ended is never found again (rules/sessions#ended-sessions-are-404); unavailable
 *   while the hub waits for the worker of a session that the previous hub had.
 */
export function requireSession(
  ctx: Pick<FleetContext, "sessions" | "awaited">,
  session_id: string,
): HubSession {
  const session = ctx.sessions.get(session_id);
  if (!session && ctx.awaited.sessions.has(session_id)) throw comingBack();
  if (!session || session.ended.aborted) throw notFound("session");
  return session;
}

/** The next hub learns of a session that no job owns in its present state, and of a job's session by the job. */
export async function keepSessionForNext(
  ctx: Pick<FleetContext, "config" | "wall_jumps" | "kept" | "log">,
  session: HubSession,
): Promise<void> {
  const { kind, held, link, idle_ttl_ms, session_id, lane_idx, job_id, headless } = session;
  const { egress, proxy, trace, capture, reconnect_ms } = session;
  if (!standsAlone(kind)) return;
  if (idle_ttl_ms === null || link.outbox === null) return;
  if (ctx.config.link_grace_ms === 0 || session.ended.aborted) return;
  const kept: KeptSession = {
    session_id,
    kind,
    lane_idx,
    job_id,
    headless,
    egress,
    proxy,
    replay: session.replay?.job_id ?? null,
    trace,
    capture,
    reconnect_ms,
    idle_ttl_ms,
    worker_id: link.worker_id,
    lease_token: held.lease.token,
    created_at: session.created_at,
    expires_at: ctx.wall_jumps.wallOf(session.expires_at),
  };
  await rememberSession(ctx, kept).catch((err) =>
    ctx.log.warn({ session_id, err }, "a restart of the hub would end this session"),
  );
}

/** Records that something used the session: an action, CDP traffic, or a viewer's input. */
export function touchSession(ctx: Pick<FleetContext, "clock">, session: HubSession): void {
  session.last_active_at = ctx.clock.monotonic();
}

/**
 * Takes the session out of the registry: viewers and CDP clients are closed with the reason, every later request is 404.
 * Does not touch the lane. False when the session had ended already.
 */
export async function dropSession(
  ctx: SessionEndContext,
  session: HubSession,
  why: string | SessionOver,
): Promise<boolean> {
  if (session.ended.aborted) return false;
  ctx.sessions.delete(session.session_id);
  session.over(typeof why === "string" ? new SessionOver(why) : why);
  ctx.meters.sessions_ended.inc({ kind: session.kind });
  ctx.signal("session ended", { session_id: session.session_id });
  if (session.kind === "call") return true;
  await withdrawPlace(ctx, session);
  if (typeof why !== "string" && why.moved) return true;
  if (session.kind === "job" && session.keep_ms === null) return true;
  await forgetSession(ctx, session.session_id).catch((err) =>
    ctx.log.warn({ session_id: session.session_id, err }, "an ended session was not forgotten"),
  );
  await recordEnded(ctx, session, typeof why === "string" ? why : why.message);
  return true;
}

/**
 * Where this hub reaches the session's lane on its worker: `http://host:port` of its bridge, and the bearer it
 * requires.
 */
export function bridgeOf(session: HubSession): { base: string; token: string } {
  const viewer = session.link.capabilities.lane_novnc_urls[session.lane_idx];
  if (viewer === undefined) throw notFound("bridge");
  return { base: reachableOrigin(viewer), token: session.link.upload_token };
}

/** The record of a session as the wire shows it (rules/sessions#session-record). */
export const sessionRecord = (
  { wall_jumps }: Pick<FleetContext, "wall_jumps">,
  session: HubSession,
): Session => ({
  session_id: session.session_id,
  state: "active",
  worker_id: session.link.worker_id,
  lane_idx: session.lane_idx,
  job_id: session.job_id,
  headless: session.headless,
  egress: session.egress,
  proxy: session.proxy,
  replay: session.replay,
  blocked: session.blocked,
  trace: session.trace,
  capture: session.capture,
  reconnect_s: session.reconnect_ms === null ? null : session.reconnect_ms / 1_000,
  novnc_url: viewerPath(session.session_id),
  cdp_url: `/sessions/${session.session_id}/cdp`,
  created_at: isoTime(session.created_at),
  last_active_at: isoTime(wall_jumps.wallOf(session.last_active_at)),
  idle_ttl_s: session.idle_ttl_ms === null ? null : session.idle_ttl_ms / 1_000,
  expires_at: isoTime(wall_jumps.wallOf(session.expires_at)),
  url: session.url,
  title: session.title,
  tabs: session.tabs,
  dialogs: session.dialogs,
  watchers: session.watchers.list(),
});
