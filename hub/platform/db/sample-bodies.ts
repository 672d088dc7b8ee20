import { resolve } from "node:path";
import { withDeadline } from "#shared/kit/clock.ts";
import { isPostgres, sqlitePath } from "./db.ts";
import { openLookClient } from "./look-client.ts";
import { loadDriver } from "./sqlite-driver.ts";

const DEADLINE_MS = 10_000;

/**
 * Keys of the bodies that rows of ended jobs name, `limit` of them at random; a running job may not have stored its
 * bodies yet.
 */
const sampleOf = (limit: number): string => `
  select 'jobs/' || a.job_id || '/assets/' || a.name as key
  from assets a join jobs j on j.job_id = a.job_id
  where j.status not in ('queued', 'running') order by random() limit ${Math.trunc(limit)}`;

/** @throws the driver's error, also for a database without tables. */
export function sampleBodies(url: string, limit: number): Promise<string[]> {
  if (isPostgres(url)) return withDeadline("the database", DEADLINE_MS, fromPostgres(url, limit));
  return fromSqlite(resolve(sqlitePath(url) ?? ""), limit);
}

async function fromPostgres(url: string, limit: number): Promise<string[]> {
  const client = openLookClient(url, DEADLINE_MS);
  try {
    const rows = await client.unsafe<{ key: string }[]>(sampleOf(limit));
    return rows.map(({ key }) => key);
  } finally {
    await client.end({ timeout: 1 });
  }
}

async function fromSqlite(file: string, limit: number): Promise<string[]> {
  const Driver = await loadDriver();
  const client = new Driver(file, { readonly: true });
  try {
    return client
      .prepare<[], { key: string }>(sampleOf(limit))
      .all()
      .map(({ key }) => key);
  } finally {
    client.close();
  }
}
