import { and, type Column, desc, eq, gt, gte, lte, type SQL, sql } from "drizzle-orm";
import type { Conn } from "../conn.ts";

/**
 * Rows with one value in `of`, in the order of `by`, after one of them: the way through an index of both. On Postgres the
 * value is in the order and a bound too, because it otherwise may walk the primary key and leave out what is not of this
 * value; SQLite seeks to the second column only below one value of the first.
 */
export function walk(
  { dialect }: Conn,
  of: Column,
  value: string | number,
  by: Column,
  after: string | number | null,
): { where: SQL | undefined; order: SQL[] } {
  const order = [sql`${of}`, sql`${by}`];
  const one = sql.param(value, of);
  if (dialect === "sqlite")
    return {
      where: sql`${eq(of, value)}${after === null ? sql`` : sql` and ${gt(by, after)}`}`,
      order,
    };
  const from =
    after === null ? sql`${of} >= ${one}` : sql`(${of}, ${by}) > (${one}, ${sql.param(after, by)})`;
  return { where: sql`${from} and ${of} between ${one} and ${one}`, order };
}

/** The same from its end back to its beginning, or from before `before` on. */
export function walkBack(
  { dialect }: Conn,
  of: Column,
  value: string | number,
  by: Column,
  before: number | undefined,
): { where: SQL | undefined; order: SQL[] } {
  const order = [desc(of), desc(by)];
  const one = sql.param(value, of);
  if (dialect === "sqlite") return { where: eq(of, value), order };
  const upto =
    before === undefined
      ? lte(of, value)
      : sql`(${of}, ${by}) < (${one}, ${sql.param(before, by)})`;
  return { where: and(gte(of, value), upto), order };
}
