import { type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { Conn } from "./conn.ts";

/**
 * Whether the column is one of the keys that a bounded subquery finds. Postgres gets them as an array, for which it plans a
 * few probes of the column's index: told to join, it walked all of a million runs in the order of the answer.
 */
export const amongFound = ({ dialect }: Conn, column: SQLWrapper, keys: SQL): SQL =>
  dialect === "sqlite" ? sql`${column} in (${keys})` : sql`${column} = any(array(${keys}))`;
