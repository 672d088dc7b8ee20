import { asc, sql } from "drizzle-orm";
import type { Conn } from "../conn.ts";
import type { RetentionRepo } from "../view-types.ts";
import { deletedWorkloads } from "./deleted-workloads.ts";
import { oldRuns } from "./runs.ts";

const HOUR_MS = 3_600_000;

/** Deletes at most an hour's rows of a table of minutes; returns how many. */
async function pruneTable(
  { q }: Conn,
  table: Conn["t"]["rate_minutes"] | Conn["t"]["gpu_minutes"] | Conn["t"]["cpu_minutes"],
  before: number,
): Promise<number> {
  const [oldest] = await q
    .select({ minute: table.minute })
    .from(table)
    .orderBy(asc(table.minute))
    .limit(1);
  if (!oldest || oldest.minute >= before) return 0;
  const rows = await q
    .delete(table)
    .where(sql`${table.minute} < ${Math.min(before, oldest.minute + HOUR_MS)}`)
    .returning({ minute: table.minute });
  return rows.length;
}

/**
 * Deletes in small pieces. Ids are read first and then named one by one: a subquery in their place may be planned as a
 * scan of the whole table while that has no statistics. Each piece begins after the previous one, past its dead rows.
 */
export function retentionRepo(conn: Conn): RetentionRepo {
  const { rate_minutes, gpu_minutes, cpu_minutes } = conn.t;
  return {
    ...oldRuns(conn),
    ...deletedWorkloads(conn),
    pruneMinutes: async (before) =>
      (await pruneTable(conn, rate_minutes, before)) +
      (await pruneTable(conn, gpu_minutes, before)) +
      (await pruneTable(conn, cpu_minutes, before)),
  };
}
