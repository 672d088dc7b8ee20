import { isoTime } from "#shared/kit/clock.ts";
import type { AuditEntry } from "#shared/protocol/schema/audit.ts";
import type { NewAuditRow } from "../../db/rows.ts";

/** What people and programs read of a recorded call, in answers and in lines of the log alike. */
export const entryOf = (row: NewAuditRow): Omit<AuditEntry, "id"> => ({
  at: isoTime(row.at),
  hub: row.hub,
  caller: {
    kind: row.caller_kind,
    name: row.caller_name,
    role: row.role,
    token_id: row.token_id,
  },
  address: row.address,
  method: row.method,
  route: row.route,
  path: row.path,
  status: row.status,
  error: row.error,
  times: row.times,
});
