import type { JobRow } from "#hub/platform/db/rows.ts";
import type { Db } from "#hub/platform/db/storage.ts";
import { claimOf, jobRow } from "#test/support/servers/db.ts";

export const END = { status: "completed", error: null, now: 1_700_000_200_000 } as const;
export const times = (n: number) => Array.from({ length: n }, (_, i) => i);

export async function insertJobs(db: Db, rows: JobRow[]): Promise<JobRow[]> {
  for (const row of rows) await db.jobs.insert(row);
  return rows;
}

/** Claimed under `lease_token`. */
export async function running(
  db: Db,
  lease_token = 1,
  fields: Partial<JobRow> = {},
): Promise<JobRow> {
  const row = jobRow(fields);
  await db.jobs.insert(row);
  const claimed = await db.jobs.claim(claimOf(row.job_id, lease_token));
  if (!claimed) throw new Error("claim of a new job was lost");
  return claimed;
}
