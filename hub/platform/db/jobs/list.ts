import {
  and,
  count,
  desc,
  eq,
  getTableColumns,
  gte,
  isNull,
  lte,
  type SQL,
  type SQLWrapper,
  sql,
} from "drizzle-orm";
import { cleanText } from "#drizzle/clean.ts";
import type { LabelFilter } from "#shared/protocol/label-text.ts";
import { FIRST_HTTP_ERROR } from "#shared/protocol/limits.ts";
import { UNKNOWN } from "../../failures/fingerprint.ts";
import { amongFound } from "../among-found.ts";
import type { Conn } from "../conn.ts";
import type { JobFilter, JobsRepo } from "../fleet-types.ts";
import { has } from "../like.ts";
import { indexWords } from "./index-words.ts";
import { labelledJobs } from "./labels.ts";
import { inStatus, position } from "./which.ts";
import { jobsWithWords } from "./words-of-jobs.ts";

type Result = NonNullable<JobFilter["result"]>;
type Before = Parameters<JobsRepo["list"]>[1];

/** What became of it; a page that answered with an error is no success, although the capture is. */
function hasResult(jobs: Conn["t"]["jobs"], result: Result): SQL | undefined {
  const { http_status } = jobs;
  const first = sql.raw(String(FIRST_HTTP_ERROR));
  if (result === "http_error")
    return and(inStatus(jobs, "completed"), sql`${http_status} >= ${first}`);
  if (result === "completed")
    return and(
      inStatus(jobs, "completed"),
      sql`(${http_status} is null or ${http_status} < ${first})`,
    );
  return inStatus(jobs, result);
}

/** Exactly this URL. Its host is asked for too, because hosts have an index. */
function isOfUrl(jobs: Conn["t"]["jobs"], url: string): SQL | undefined {
  const host = URL.canParse(url) ? eq(jobs.host, cleanText(new URL(url).hostname)) : undefined;
  return and(host, eq(jobs.url, cleanText(url)));
}

const given = <T>(value: T | undefined, condition: (value: T) => SQL | undefined) =>
  value === undefined ? undefined : condition(value);

/** What a person asks for, but for the first label. */
function conditionOf(conn: Conn, filter: JobFilter): SQL | undefined {
  const { jobs } = conn.t;
  return and(
    given(filter.job_id, (id) => eq(jobs.job_id, id)),
    given(filter.status, (status) => inStatus(jobs, status)),
    given(filter.statuses, (all) => inStatus(jobs, ...all)),
    given(filter.result, (result) => hasResult(jobs, result)),
    given(filter.mode, (mode) => eq(jobs.mode, mode)),
    given(filter.host, (host) => eq(jobs.host, host)),
    given(filter.worker_id, (id) => eq(jobs.worker_id, id)),
    given(filter.watch, (id) => eq(jobs.watch_id, id)),
    given(filter.fingerprint, (one) =>
      one === UNKNOWN
        ? and(inStatus(jobs, "failed"), isNull(jobs.fingerprint))
        : eq(jobs.fingerprint, one),
    ),
    given(filter.changed, (is) => eq(jobs.changed, is)),
    given(filter.q || undefined, (text) => has(jobs.url, text)),
    given(filter.url, (url) => isOfUrl(jobs, url)),
    given(filter.text, (text) => has(jobs.error, text)),
    given(filter.words, (words) => amongFound(conn, jobs.job_id, jobsWithWords(conn, words))),
    given(filter.since, (at) => gte(jobs.created_at, at)),
    given(filter.until, (at) => lte(jobs.created_at, at)),
    filter.not_retried === true ? isNull(jobs.retried_as) : undefined,
    ...(filter.label ?? []).slice(1).map((label) => labelledJobs(conn, label)),
  );
}
const hasLabel = ({ t: { job_labels: l } }: Conn, { key, value }: LabelFilter) =>
  and(eq(l.key, key), value === null ? undefined : eq(l.value, value));

const isBefore = (place: SQL, { t: { jobs } }: Conn, before: Before): SQL | undefined =>
  before === null
    ? undefined
    : sql`${place} < (${sql.param(before.created_at, jobs.created_at)}, ${sql.param(before.job_id, jobs.job_id)})`;

/** A page of jobs by what a person asks for. */
export function listJobs(conn: Conn): JobsRepo["list"] {
  const {
    q,
    t: { jobs, job_labels },
  } = conn;
  const ordered = (created_at: SQLWrapper, job_id: SQLWrapper) => [desc(created_at), desc(job_id)];
  return async (filter, before) => {
    if (filter.words !== undefined) await indexWords(conn);
    const [label] = filter.label ?? [];
    const asked = conditionOf(conn, filter);
    if (!label)
      return q
        .select()
        .from(jobs)
        .where(and(asked, isBefore(position(jobs), conn, before)))
        .orderBy(...ordered(jobs.created_at, jobs.job_id))
        .limit(filter.limit);
    // In the order of the label's own index, however few of all jobs have it.
    const place = sql`(${job_labels.created_at}, ${job_labels.job_id})`;
    return q
      .select(getTableColumns(jobs))
      .from(job_labels)
      .innerJoin(jobs, eq(jobs.job_id, job_labels.job_id))
      .where(and(hasLabel(conn, label), asked, isBefore(place, conn, before)))
      .orderBy(...ordered(job_labels.created_at, job_labels.job_id))
      .limit(filter.limit);
  };
}

/** How many jobs a list has, counted up to the limit. */
export function countJobs(conn: Conn): JobsRepo["count"] {
  const {
    q,
    t: { jobs, job_labels },
  } = conn;
  return async (filter) => {
    if (filter.words !== undefined) await indexWords(conn);
    const [label] = filter.label ?? [];
    const asked = conditionOf(conn, filter);
    const found = label
      ? q
          .select({ one: sql`1`.as("one") })
          .from(job_labels)
          .innerJoin(jobs, eq(jobs.job_id, job_labels.job_id))
          .where(and(hasLabel(conn, label), asked))
      : q
          .select({ one: sql`1`.as("one") })
          .from(jobs)
          .where(asked);
    const [row] = await q
      .select({ n: count() })
      .from(found.limit(filter.limit ?? Number.MAX_SAFE_INTEGER).as("found"));
    return row?.n ?? 0;
  };
}
