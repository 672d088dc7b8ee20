import { announceEnd, storeLines } from "./events.ts";
import type { JobFinishContext } from "./job-contexts.ts";

/**
 * Stores the results that came while the database was away (rules/jobs#results-while-the-database-is-away). Do this
 * before failing a job because of its worker. Rejects while the database is still away.
 */
export async function storeUnstoredOnce(ctx: JobFinishContext): Promise<void> {
  for (const [token, { job_id, end, log }] of ctx.unstored) {
    await storeLines(ctx, job_id, log);
    const row = await ctx.db.jobs.finish(job_id, token, end);
    ctx.unstored.delete(token);
    if (row) await announceEnd(ctx, row, true);
  }
}
