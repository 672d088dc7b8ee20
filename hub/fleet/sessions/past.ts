import type { PastSessionRow } from "#hub/platform/db/rows.ts";
import { namedCursor, readNamedCursor } from "#hub/platform/http/time-cursor.ts";
import { pageOfRows } from "#hub/platform/page-of-rows.ts";
import { isoTime } from "#shared/kit/clock.ts";
import type { PastSession, SessionListQuery } from "#shared/protocol/schema/session.ts";
import type { FleetContext } from "../context.ts";
import { keptSession } from "../links/kept.ts";
import { type HubSession, standsAlone } from "./hub-session.ts";
import { demandWhole, hasPlace } from "./places.ts";
import type { OwnerContext } from "./session-contexts.ts";

/** The records of sessions that have ended (rules/sessions#past-sessions). A session goes on when its record cannot be written. */

/** Opens the record of a session that no job owns; a job's session is part of the job. Never rejects. */
export async function recordOpened(
  ctx: Pick<FleetContext, "db" | "log">,
  session: HubSession,
): Promise<void> {
  const { session_id, kind, job_id, lane_idx, opened_by, headless, created_at } = session;
  if (!standsAlone(kind)) return;
  const { worker_id } = session.link;
  const where = { url: session.url, title: session.title };
  const row = { session_id, kind, job_id, worker_id, lane_idx, opened_by, headless, created_at };
  await ctx.db.sessions
    .open({ ...row, ...where })
    .catch((err) => ctx.log.warn({ session_id, err }, "an open session was not recorded"));
}

/** Closes it. Never rejects. */
export async function recordEnded(
  ctx: Pick<FleetContext, "clock" | "db" | "log">,
  session: HubSession,
  end_reason: string,
): Promise<void> {
  const { session_id, url, title } = session;
  const actions = session.actions - session.counted;
  const end = { ended_at: ctx.clock.now(), end_reason, url, title, actions };
  await ctx.db.sessions
    .end(session_id, end)
    .catch((err) => ctx.log.warn({ session_id, err }, "an ended session was not recorded"));
}

/** The count of its actions outlives a hub that is killed, but for what was called since the last beat. Never rejects. */
export async function recordCounts(
  ctx: Pick<FleetContext, "db" | "log" | "sessions">,
): Promise<void> {
  for (const session of ctx.sessions.values()) {
    const { session_id, kind, actions } = session;
    const more = actions - session.counted;
    if (!standsAlone(kind) || more === 0) continue;
    // A session that ends meanwhile must not count them again.
    session.counted = actions;
    await ctx.db.sessions.count(session_id, more).catch((err) => {
      session.counted -= more;
      ctx.log.warn({ session_id, err }, "the actions of an open session were not recorded");
    });
  }
}

/** A place is published every 30 s, and remembered for 90. */
const SETTLED_MS = 120_000;
const LOOKED_AT = 1_000;

/** Closes the records of sessions whose hub was killed and whose worker brought them to no other. */
export async function endLostSessions(
  ctx: OwnerContext & Pick<FleetContext, "awaited" | "db">,
): Promise<void> {
  const rows = await ctx.db.sessions.openBefore(ctx.clock.now() - SETTLED_MS, LOOKED_AT);
  if (rows.length === 0) return;
  await demandWhole(ctx);
  for (const { session_id, url, title } of rows) {
    if (ctx.sessions.has(session_id) || ctx.awaited.sessions.has(session_id)) continue;
    if (await hasPlace(ctx, session_id)) continue;
    if ((await keptSession(ctx, session_id)) !== null) continue;
    const end_reason = "its hub was lost, and its worker did not bring it to another";
    const end = { ended_at: ctx.clock.now(), end_reason, url, title, actions: 0 };
    if (await ctx.db.sessions.end(session_id, end))
      ctx.log.warn({ session_id }, "a session was lost with its hub");
  }
}

/** What lists show of a session's recording. */
type Recorded = Pick<PastSession, "recording" | "thumbnail_href">;
const NOTHING: Recorded = { recording: null, thumbnail_href: null };

const recordOf = (row: PastSessionRow, ended_at: number, recorded: Recorded): PastSession => ({
  session_id: row.session_id,
  state: "ended",
  worker_id: row.worker_id,
  lane_idx: row.lane_idx,
  job_id: row.job_id,
  opened_by: row.opened_by,
  headless: row.headless,
  created_at: isoTime(row.created_at),
  ended_at: isoTime(ended_at),
  duration_ms: Math.max(0, ended_at - row.created_at),
  end_reason: row.end_reason ?? "",
  url: row.url,
  title: row.title,
  actions: row.actions,
  recording: recorded.recording,
  thumbnail_href: recorded.thumbnail_href,
});

const thumbnailHref = (session_id: string): string => `/sessions/${session_id}/thumbnail.webp`;

/** The recordings of these sessions, as `GET /sessions/{sid}/recording` finds them: its own before that of its job. */
async function recordingsOf(
  { db }: Pick<FleetContext, "db">,
  session_ids: readonly string[],
): Promise<ReadonlyMap<string, Recorded>> {
  const rows = await db.recordings.ofSessions(session_ids);
  const own_last = rows.toSorted((a, b) => Number(a.job_id === null) - Number(b.job_id === null));
  return new Map(
    own_last.map(({ session_id, state, mode, sealed, body_bytes, has_screen }) => [
      session_id,
      {
        recording: { state, mode, bytes: sealed + body_bytes },
        thumbnail_href: state !== "live" && has_screen ? thumbnailHref(session_id) : null,
      },
    ]),
  );
}

/** GET /sessions?status=ended: the last to end first, one page. @throws AppError invalid for a cursor of another list */
export async function listPast(
  ctx: Pick<FleetContext, "db">,
  { limit, cursor, q, worker_id }: SessionListQuery,
): Promise<{ sessions: PastSession[]; next_cursor: string | null }> {
  const place = cursor === undefined ? null : readNamedCursor(cursor);
  const before = place && { ended_at: place.at, session_id: place.id };
  const { page, next_cursor } = await pageOfRows(
    limit,
    (most) => ctx.db.sessions.listEnded(most, before, { q, worker_id }),
    ({ ended_at, session_id }) => namedCursor({ at: ended_at ?? 0, id: session_id }),
  );
  const recordings = await recordingsOf(
    ctx,
    page.map(({ session_id }) => session_id),
  );
  const sessions = page.map((row) =>
    recordOf(row, row.ended_at ?? 0, recordings.get(row.session_id) ?? NOTHING),
  );
  return { sessions, next_cursor };
}
