import { type SQL, type SQLWrapper, sql } from "drizzle-orm";

/** `at`, or `floor` when the wall clock was put back in between: no end is stored before its beginning. */
export const notBefore = (floor: SQLWrapper, at: unknown): SQL =>
  sql`case when ${floor} > ${at} then ${floor} else ${at} end`;
