import type { AuditPage, AuditQuery } from "#shared/protocol/schema/audit.ts";
import type { Db } from "../../db/storage.ts";
import { readTimeCursor, timeCursor } from "../../http/time-cursor.ts";
import { pageOfRows } from "../../page-of-rows.ts";
import { entryOf } from "./audit-entry.ts";
import type { AuditLog } from "./audit-log.ts";

export interface AuditContext {
  readonly db: Pick<Db, "audit">;
  readonly audit: AuditLog;
}

/** `403`, or `4xx` for the whole class. */
function statusesOf(status: string): { from: number; to: number } {
  if (!/xx$/i.test(status)) return { from: Number(status), to: Number(status) };
  const from = Number(status[0]) * 100;
  return { from, to: from + 99 };
}

/** GET /audit: newest first, one page. @throws AppError invalid for a cursor of another list */
export async function listAudit(
  { db, audit }: AuditContext,
  { cursor, since, until, status, ...query }: AuditQuery,
): Promise<AuditPage> {
  const before = cursor === undefined ? undefined : readTimeCursor(cursor);
  const filter = {
    ...query,
    status: status === undefined ? undefined : statusesOf(status),
    since: since === undefined ? undefined : Date.parse(since),
    until: until === undefined ? undefined : Date.parse(until),
    before: before && { at: before.at, audit_id: before.id },
  };
  const { page, next_cursor } = await pageOfRows(
    query.limit,
    (limit) => db.audit.list({ ...filter, limit }),
    ({ at, audit_id }) => timeCursor({ at, id: audit_id }),
  );
  return {
    entries: page.map((row) => ({ id: row.audit_id, ...entryOf(row) })),
    next_cursor,
    dropped: audit.dropped,
  };
}
