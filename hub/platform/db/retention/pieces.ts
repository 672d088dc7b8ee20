import { and, between, type Column, inArray, type SQL } from "drizzle-orm";

/** By name and by range: without statistics, the planner would read the whole table for a thousand names. */
export const among = (column: Column, ids: number[]): SQL | undefined =>
  and(inArray(column, ids), between(column, Math.min(...ids), Math.max(...ids)));
