import type { JobExample, JobPlace } from "#hub/platform/db/triage/triage-repo.ts";
import { failureOf, UNKNOWN } from "#hub/platform/failures/fingerprint.ts";
import {
  addTo,
  COUNT_MS,
  type Group,
  groupRecord,
  pageOfGroups,
  tracebackOf,
  windowOf,
  windowRecord,
} from "#hub/platform/http/failure-groups.ts";
import { isoTime } from "#shared/kit/clock.ts";
import type {
  JobFailureGroup,
  JobFailureList,
  JobFailureQuery,
} from "#shared/protocol/schema/failure.ts";
import type { FleetContext } from "../context.ts";

/** Failed jobs that one statement reads. */
const PIECE = 2_000;

interface Within {
  since: number;
  until: number;
  bucket_ms: number;
}

/** Newest first; where it stopped: `since`, or where its time was over. */
async function countGroups(
  { db, clock }: Pick<FleetContext, "db" | "clock">,
  query: JobFailureQuery,
  { since, until, bucket_ms }: Within,
): Promise<{ groups: Map<string, Group<string>>; counted_since: number }> {
  const groups = new Map<string, Group<string>>();
  const { host, text, worker, buckets } = query;
  const fingerprint = query.fingerprint === UNKNOWN ? null : query.fingerprint;
  const filter = { host, text, worker_id: worker, fingerprint };
  const late = clock.monotonic() + COUNT_MS;
  let before: JobPlace = { created_at: until, job_id: null };
  while (clock.monotonic() < late) {
    const rows = await db.triage.failedJobs({ before, since, limit: PIECE }, filter);
    for (const row of rows) {
      if (!row.matches) continue;
      const at = row.finished_at ?? row.created_at;
      const bucket = Math.floor((row.created_at - since) / bucket_ms);
      const seen = { bucket, n: 1, first: at, last: at, newest: row.job_id };
      const where = { fingerprint: row.fingerprint, of: row.host, worker: row.worker_id };
      addTo(groups, { ...seen, ...where }, buckets);
    }
    const last = rows.at(-1);
    if (rows.length < PIECE || last === undefined) return { groups, counted_since: since };
    before = { created_at: last.created_at, job_id: last.job_id };
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return { groups, counted_since: before.created_at };
}

const exampleOf = (job: JobExample, traceback: string | null): JobFailureGroup["example"] => ({
  href: `/jobs/${job.job_id}`,
  job_id: job.job_id,
  url: job.url,
  stage: job.stage,
  worker_id: job.worker_id,
  finished_at: isoTime(job.finished_at ?? 0),
  traceback: tracebackOf(traceback, job.error),
});

/** GET /jobs/failures (rules/failures#groups). @throws AppError invalid */
export async function listJobFailures(
  ctx: Pick<FleetContext, "db" | "clock">,
  query: JobFailureQuery,
): Promise<JobFailureList> {
  const { db, clock } = ctx;
  const within = windowOf(query, clock.now());
  const { groups, counted_since } = await countGroups(ctx, query, within);
  const { page, next_cursor } = pageOfGroups(groups, query);
  const [jobs, first] = await Promise.all([
    db.triage.jobExamples(page.map(({ newest }) => newest)),
    db.triage.firstJobs(page.map((one) => one.fingerprint).filter((one) => one !== UNKNOWN)),
  ]);
  const job = new Map(jobs.map((one) => [one.job_id, one]));
  const items = page.map((group): JobFailureGroup => {
    const example = job.get(group.newest);
    const failure = failureOf(example?.error ?? "");
    return {
      ...groupRecord(group, failure, first),
      hosts: [...group.of].map(String).sort(),
      example: example === undefined ? null : exampleOf(example, failure.traceback),
    };
  });
  return {
    items,
    ...windowRecord(within, counted_since),
    next_cursor,
  };
}
