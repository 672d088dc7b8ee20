import { and, desc, eq, gte, like, lte, type SQL, sql } from "drizzle-orm";
import { cleanText } from "#drizzle/clean.ts";
import { FIRST_HTTP_ERROR } from "#shared/protocol/limits.ts";
import type { Conn } from "../conn.ts";
import type { JobsRepo } from "../fleet-types.ts";
import { position } from "./which.ts";

type Result = NonNullable<Parameters<JobsRepo["list"]>[0]["result"]>;

/** In a LIKE pattern (with `escape '\'`), `%` and `_` of the text stand for themselves. */
const likePart = (text: string): string => `%${cleanText(text).replace(/[\\%_]/g, "\\$&")}%`;

/** SQLite's LIKE ignores the case of ASCII letters, Postgres' does not: lower both; other letters match as written. */
const urlHas = ({ url }: Conn["t"]["jobs"], text: string): SQL =>
  sql`(${like(sql`lower(${url})`, likePart(text.toLowerCase()))} escape '\\' or ${like(url, likePart(text))} escape '\\')`;

/** What became of it; a page that answered with an error is no success, although the capture is. */
function hasResult({ status, http_status }: Conn["t"]["jobs"], result: Result): SQL | undefined {
  const first = sql.raw(String(FIRST_HTTP_ERROR));
  if (result === "http_error") return and(eq(status, "completed"), sql`${http_status} >= ${first}`);
  if (result === "completed")
    return and(eq(status, "completed"), sql`(${http_status} is null or ${http_status} < ${first})`);
  return eq(status, result);
}

/** A page of jobs by what a person asks for. */
export function listJobs({ q, t: { jobs } }: Conn): JobsRepo["list"] {
  return async (filter, before) =>
    q
      .select()
      .from(jobs)
      .where(
        and(
          filter.status === undefined ? undefined : eq(jobs.status, filter.status),
          filter.result === undefined ? undefined : hasResult(jobs, filter.result),
          filter.mode === undefined ? undefined : eq(jobs.mode, filter.mode),
          filter.host === undefined ? undefined : eq(jobs.host, filter.host),
          filter.worker_id === undefined ? undefined : eq(jobs.worker_id, filter.worker_id),
          filter.watch === undefined ? undefined : eq(jobs.watch_id, filter.watch),
          filter.changed === undefined ? undefined : eq(jobs.changed, filter.changed),
          filter.q === undefined || filter.q === "" ? undefined : urlHas(jobs, filter.q),
          filter.since === undefined ? undefined : gte(jobs.created_at, filter.since),
          filter.until === undefined ? undefined : lte(jobs.created_at, filter.until),
          before === null
            ? undefined
            : sql`${position(jobs)} < (${sql.param(before.created_at, jobs.created_at)}, ${sql.param(before.job_id, jobs.job_id)})`,
        ),
      )
      .orderBy(desc(jobs.created_at), desc(jobs.job_id))
      .limit(filter.limit);
}
