import { and, type Column, eq, gt, gte, or, type SQL } from "drizzle-orm";

/** Rows that come behind one in the order of a time and an id. The first condition is what an index can begin with. */
export const behindRow = (time: Column, at: number, key: Column, id: string): SQL | undefined =>
  and(gte(time, at), or(gt(time, at), and(eq(time, at), gt(key, id))));
