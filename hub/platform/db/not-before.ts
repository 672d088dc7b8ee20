import { type SQL, type SQLWrapper, sql } from "drizzle-orm";

/** `at`, or `floor` if the wall clock was set back in between: no end is stored before its beginning. */
export const notBefore = (floor: SQLWrapper, at: unknown): SQL =>
  sql`case when ${floor} > ${at} then ${floor} else ${at} end`;

/** `now`, or just after `stored` when the clock stands still or went back: a version that grows with every write. */
export const laterThan = (stored: SQLWrapper, now: number): SQL<number> =>
  sql<number>`case when ${stored} >= ${now} then ${stored} + 1 else ${now} end`;
