import { and, count, desc, eq, gte, inArray, isNull, lte, type SQL, sql } from "drizzle-orm";
import { FIRST_HTTP_ERROR } from "#shared/protocol/limits.ts";
import { UNKNOWN } from "../../failures/fingerprint.ts";
import type { Conn } from "../conn.ts";
import type { JobFilter, JobsRepo } from "../fleet-types.ts";
import { has } from "../like.ts";
import { position } from "./which.ts";

type Result = NonNullable<JobFilter["result"]>;

/** What became of it; a page that answered with an error is no success, although the capture is. */
function hasResult({ status, http_status }: Conn["t"]["jobs"], result: Result): SQL | undefined {
  const first = sql.raw(String(FIRST_HTTP_ERROR));
  if (result === "http_error") return and(eq(status, "completed"), sql`${http_status} >= ${first}`);
  if (result === "completed")
    return and(eq(status, "completed"), sql`(${http_status} is null or ${http_status} < ${first})`);
  return eq(status, result);
}

const given = <T>(value: T | undefined, condition: (value: T) => SQL | undefined) =>
  value === undefined ? undefined : condition(value);

/** What a person asks for. */
function conditionOf(jobs: Conn["t"]["jobs"], filter: JobFilter): SQL | undefined {
  return and(
    given(filter.status, (status) => eq(jobs.status, status)),
    given(filter.statuses, (all) => inArray(jobs.status, [...all])),
    given(filter.result, (result) => hasResult(jobs, result)),
    given(filter.mode, (mode) => eq(jobs.mode, mode)),
    given(filter.host, (host) => eq(jobs.host, host)),
    given(filter.worker_id, (id) => eq(jobs.worker_id, id)),
    given(filter.watch, (id) => eq(jobs.watch_id, id)),
    given(filter.fingerprint, (one) =>
      one === UNKNOWN
        ? and(eq(jobs.status, "failed"), isNull(jobs.fingerprint))
        : eq(jobs.fingerprint, one),
    ),
    given(filter.changed, (is) => eq(jobs.changed, is)),
    given(filter.q || undefined, (text) => has(jobs.url, text)),
    given(filter.text, (text) => has(jobs.error, text)),
    given(filter.since, (at) => gte(jobs.created_at, at)),
    given(filter.until, (at) => lte(jobs.created_at, at)),
    filter.not_retried === true ? isNull(jobs.retried_as) : undefined,
  );
}

/** A page of jobs by what a person asks for, and how many there are. */
export function listJobs({ q, t: { jobs } }: Conn): Pick<JobsRepo, "list" | "count"> {
  return {
    list: async (filter, before) =>
      q
        .select()
        .from(jobs)
        .where(
          and(
            conditionOf(jobs, filter),
            before === null
              ? undefined
              : sql`${position(jobs)} < (${sql.param(before.created_at, jobs.created_at)}, ${sql.param(before.job_id, jobs.job_id)})`,
          ),
        )
        .orderBy(desc(jobs.created_at), desc(jobs.job_id))
        .limit(filter.limit),
    count: async (filter) => {
      const [row] = await q.select({ n: count() }).from(jobs).where(conditionOf(jobs, filter));
      return row?.n ?? 0;
    },
  };
}
