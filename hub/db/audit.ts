import { and, asc, desc, eq, gte, inArray, lt, lte, or } from "drizzle-orm";
import type { Conn } from "./conn.ts";
import type { AuditFilter, AuditRepo, AuditRow } from "./types.ts";

/** Thirteen values a row; both dialects take 32,000 in one statement. */
const MAX_ROWS = 500;

export function auditRepo({ q, t: { audit } }: Conn): AuditRepo {
  const matching = ({ who, method, route, status, since, until, before }: AuditFilter) =>
    and(
      who === undefined
        ? undefined
        : or(
            eq(audit.caller_kind, who as AuditRow["caller_kind"]),
            eq(audit.caller_name, who),
            eq(audit.token_id, who),
            eq(audit.address, who),
          ),
      method === undefined ? undefined : eq(audit.method, method),
      route === undefined ? undefined : eq(audit.route, route),
      status && and(gte(audit.status, status.from), lte(audit.status, status.to)),
      since === undefined ? undefined : gte(audit.at, since),
      until === undefined ? undefined : lt(audit.at, until),
      // The first half lets the index find the beginning of the page.
      before &&
        and(
          lte(audit.at, before.at),
          or(lt(audit.at, before.at), lt(audit.audit_id, before.audit_id)),
        ),
    );
  return {
    append: async (rows) => {
      for (let at = 0; at < rows.length; at += MAX_ROWS)
        await q.insert(audit).values(rows.slice(at, at + MAX_ROWS));
    },
    list: (filter) =>
      q
        .select()
        .from(audit)
        .where(matching(filter))
        .orderBy(desc(audit.at), desc(audit.audit_id))
        .limit(filter.limit),
    deleteBefore: async (at, limit) => {
      // By a list of ids: Postgres joins a subquery by reading the whole table.
      const chosen = await q
        .select({ audit_id: audit.audit_id })
        .from(audit)
        .where(lt(audit.at, at))
        .orderBy(asc(audit.at))
        .limit(limit);
      if (chosen.length === 0) return 0;
      const ids = chosen.map(({ audit_id }) => audit_id);
      const gone = await q
        .delete(audit)
        .where(inArray(audit.audit_id, ids))
        .returning({ audit_id: audit.audit_id });
      return gone.length;
    },
  };
}
