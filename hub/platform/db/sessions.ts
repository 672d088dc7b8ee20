import {
  and,
  asc,
  desc,
  eq,
  inArray,
  isNotNull,
  isNull,
  lt,
  lte,
  or,
  type SQL,
  sql,
} from "drizzle-orm";
import type { Conn } from "./conn.ts";
import type { SessionsRepo } from "./fleet-types.ts";
import { has } from "./like.ts";

type Sessions = Conn["t"]["sessions"];
type ListEnded = Parameters<SessionsRepo["listEnded"]>;

/** What comes in the list after this place. */
const isAfter = ({ ended_at, session_id }: Sessions, before: ListEnded[1]): SQL | undefined =>
  before === null
    ? undefined
    : and(
        lte(ended_at, before.ended_at),
        or(lt(ended_at, before.ended_at), lt(session_id, before.session_id)),
      );

const fits = (
  { url, title, worker_id }: Sessions,
  filter: NonNullable<ListEnded[2]>,
): SQL | undefined =>
  and(
    filter.q ? or(has(url, filter.q), has(title, filter.q)) : undefined,
    filter.worker_id ? eq(worker_id, filter.worker_id) : undefined,
  );

export function sessionsRepo({ q, t: { sessions } }: Conn): SessionsRepo {
  const { session_id, ended_at, created_at } = sessions;
  return {
    open: async ({ kind, job_id, ...row }) => {
      const again = { kind, job_id, ended_at: null, end_reason: null };
      await q
        .insert(sessions)
        .values({ ...row, kind, job_id })
        .onConflictDoUpdate({ target: session_id, set: again });
    },
    get: async (id) => {
      const [row] = await q.select().from(sessions).where(eq(session_id, id));
      return row ?? null;
    },
    count: async (id, actions) => {
      await q
        .update(sessions)
        .set({ actions: sql`${sessions.actions} + ${actions}` })
        .where(eq(session_id, id));
    },
    end: async (id, { actions, ...end }) => {
      const ended = await q
        .update(sessions)
        .set({ ...end, actions: sql`${sessions.actions} + ${actions}` })
        .where(and(eq(session_id, id), isNull(ended_at)))
        .returning({ session_id });
      return ended.length > 0;
    },
    openBefore: (created_before, limit) =>
      q
        .select()
        .from(sessions)
        .where(and(isNull(ended_at), lt(created_at, created_before)))
        .orderBy(asc(created_at))
        .limit(limit),
    listEnded: (limit, before, filter = {}) =>
      q
        .select()
        .from(sessions)
        .where(and(isNotNull(ended_at), isAfter(sessions, before), fits(sessions, filter)))
        .orderBy(desc(ended_at), desc(session_id))
        .limit(limit),
    endOfNth: async (n) => {
      const [row] = await q
        .select({ ended_at })
        .from(sessions)
        .where(isNotNull(ended_at))
        .orderBy(desc(ended_at), desc(session_id))
        .offset(n)
        .limit(1);
      return row?.ended_at ?? null;
    },
    deleteEnded: async (ended_by, limit) => {
      const chosen = await q
        .select({ session_id })
        .from(sessions)
        .where(lte(ended_at, ended_by))
        .orderBy(asc(ended_at))
        .limit(limit);
      if (chosen.length === 0) return 0;
      const ids = chosen.map((row) => row.session_id);
      const gone = await q
        .delete(sessions)
        .where(inArray(session_id, ids))
        .returning({ session_id });
      return gone.length;
    },
  };
}
