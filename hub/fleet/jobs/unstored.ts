import type { FinishJob } from "#hub/platform/db/types.ts";
import type { FleetContext } from "../context.ts";
import { announceEnd, type NewEvent, storeLines } from "./events.ts";

/** A result the database could not take: the worker has told it and keeps nothing of it. */
export interface UnstoredResult {
  job_id: string;
  end: FinishJob;
  /** Lines of its log that were not stored either. */
  log: NewEvent[];
}

/**
 * Stores the results that came while the database was away (rules/jobs#results-while-the-database-is-away). Whoever
 * is about to fail a job for its worker's sake does this first. Rejects while the database is still away.
 */
export async function storeUnstoredOnce(ctx: FleetContext): Promise<void> {
  for (const [token, { job_id, end, log }] of ctx.unstored) {
    await storeLines(ctx, job_id, log);
    const row = await ctx.db.jobs.finish(job_id, token, end);
    ctx.unstored.delete(token);
    if (row) await announceEnd(ctx, row, true);
  }
}
