import { and, asc, eq, isNull, lt, lte, or, type SQL, sql } from "drizzle-orm";
import type { AccessRepo } from "./access-types.ts";
import type { Conn } from "./conn.ts";

type AccessTokens = Conn["t"]["access_tokens"];

/** Whether an admin's token that never expires would be left without this one, or none at all. */
const leavesAdmin = (tokens: AccessTokens, token_id: string): SQL => {
  const other = sql`o.token_id <> ${sql.param(token_id, tokens.token_id)}`;
  return sql`(exists (select 1 from ${tokens} o where ${other} and o.role = 'admin' and o.expires_at is null)
    or not exists (select 1 from ${tokens} o where ${other}))`;
};

export function accessRepo({
  q,
  t: { access_tokens: tokens, browser_sessions: sessions },
  atomic,
  lockRows,
}: Conn): AccessRepo {
  return {
    addToken: async (row) => {
      await q.insert(tokens).values(row);
    },
    tokens: () => q.select().from(tokens).orderBy(asc(tokens.token_id)),
    hasTokens: async () =>
      (await q.select({ token_id: tokens.token_id }).from(tokens).limit(1)).length > 0,
    findToken: async (hash) =>
      (await q.select().from(tokens).where(eq(tokens.hash, hash)))[0] ?? null,
    tokenById: async (token_id) =>
      (await q.select().from(tokens).where(eq(tokens.token_id, token_id)))[0] ?? null,
    removeToken: async (token_id, keep_admin) => {
      const itself = eq(tokens.token_id, token_id);
      const condition = keep_admin ? leavesAdmin(tokens, token_id) : undefined;
      // Two calls that each remove one of the last two admins lock the same rows, so the second sees what the first did.
      const [before = [], removed = []] = await atomic([
        lockRows(
          q.select({ token_id: tokens.token_id }).from(tokens).orderBy(asc(tokens.token_id)),
        ),
        q.delete(tokens).where(and(itself, condition)).returning({ token_id: tokens.token_id }),
        q
          .delete(sessions)
          .where(
            and(
              eq(sessions.token_id, token_id),
              sql`not exists (select 1 from ${tokens} where ${itself})`,
            ),
          ),
      ]);
      if (removed.length > 0) return "removed";
      return before.some((row) => row.token_id === token_id) ? "needed" : "not found";
    },
    markUsed: async (token_id, now, before) => {
      await q
        .update(tokens)
        .set({ last_used_at: now })
        .where(
          and(
            eq(tokens.token_id, token_id),
            or(isNull(tokens.last_used_at), lt(tokens.last_used_at, before)),
          ),
        );
    },
    addSession: async (row) => {
      await q.insert(sessions).values(row);
    },
    findSession: async (hash) => {
      const [session] = await q.select().from(sessions).where(eq(sessions.hash, hash));
      if (!session) return null;
      if (session.token_id === null) return { session, token: null };
      const [token] = await q.select().from(tokens).where(eq(tokens.token_id, session.token_id));
      // A login that was under way when its token was revoked leaves a session without an owner.
      return token ? { session, token } : null;
    },
    removeSession: async (hash) => {
      await q.delete(sessions).where(eq(sessions.hash, hash));
    },
    removeExpiredSessions: async (now) => {
      await q.delete(sessions).where(lte(sessions.expires_at, now));
    },
  };
}
