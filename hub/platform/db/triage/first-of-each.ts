import { type Column, type SQL, sql } from "drizzle-orm";
import type { Conn } from "../conn.ts";
import { walk } from "./walk.ts";

/**
 * The rows that come first by `by` of each value of `of`: one probe of the index of both for each, while the least of a
 * group would be searched for among all of it. `key` is the table's primary key.
 */
export function firstOfEach(
  conn: Conn,
  of: Column,
  key: Column,
  by: Column,
  values: readonly string[],
): SQL {
  const probes = values.map((value) => {
    const { where, order } = walk(conn, of, value, by, null);
    return sql`(select ${key} from ${of.table} where ${where} order by ${sql.join(order, sql`, `)} limit 1)`;
  });
  return sql`${key} in (${sql.join(probes, sql`, `)})`;
}
