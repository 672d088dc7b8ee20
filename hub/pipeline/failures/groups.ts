import type { RunExample, RunPlace } from "#hub/platform/db/triage/triage-repo.ts";
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
import type { FailureGroup, FailureList, FailureQuery } from "#shared/protocol/schema/failure.ts";
import type { PipelineContext } from "../context.ts";
import { DELETED } from "../tasks/runs.ts";

/** Failures that one statement counts: meanwhile SQLite answers nothing else. */
const PIECE = 20_000;

type Groups = Map<string, Group<number>>;

const fingerprintFilter = (fingerprint: string | undefined) =>
  fingerprint === UNKNOWN ? null : fingerprint;

interface Asked {
  query: FailureQuery;
  workload_id: number | undefined;
  since: number;
  until: number;
  bucket_ms: number;
}

/** Newest first; where it stopped: `since`, or where its time was over. */
async function countGroups(
  { db, clock }: Pick<PipelineContext, "db" | "clock">,
  { query, workload_id, since, until, bucket_ms }: Asked,
): Promise<{ groups: Groups; counted_since: number }> {
  const groups: Groups = new Map();
  const filter = {
    workload_id,
    worker_id: query.worker,
    fingerprint: fingerprintFilter(query.fingerprint),
    text: query.text,
  };
  const late = clock.monotonic() + COUNT_MS;
  let before: RunPlace = { finished_at: until, run_id: 0 };
  while (clock.monotonic() < late) {
    const from = await db.triage.placeBefore(before, since, PIECE);
    const rows = await db.triage.countFailures({ before, from, since, bucket_ms }, filter);
    for (const { workload_id: of, worker_id: worker, ...row } of rows)
      addTo(groups, { ...row, of, worker }, query.buckets);
    if (from === null) return { groups, counted_since: since };
    before = from;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return { groups, counted_since: before.finished_at };
}

const exampleOf = (run: RunExample, traceback: string | null): FailureGroup["example"] => ({
  href: `/api/v1/runs/${run.run_id}`,
  run_id: run.run_id,
  workload: run.slug ?? DELETED,
  pk: run.pk,
  attempt: run.attempt,
  worker_id: run.worker_id,
  duration_ms: run.duration_ms,
  finished_at: isoTime(run.finished_at),
  traceback: tracebackOf(traceback, run.error),
});

/** GET /api/v1/failures (rules/failures#groups). @throws AppError not_found, invalid */
export async function listFailures(
  ctx: Pick<PipelineContext, "db" | "clock" | "pipeline">,
  query: FailureQuery,
): Promise<FailureList> {
  const { db, clock, pipeline } = ctx;
  const { workload } = query;
  const workload_id =
    workload === undefined ? undefined : (await pipeline.workloads.require(workload)).workload_id;
  const within = windowOf(query, clock.now());
  const { groups, counted_since } = await countGroups(ctx, { query, workload_id, ...within });
  const { page, next_cursor } = pageOfGroups(groups, query);
  const [runs, first, workloads] = await Promise.all([
    db.triage.examples(page.map(({ newest }) => newest)),
    db.triage.firstSeen(page.map((one) => one.fingerprint).filter((one) => one !== UNKNOWN)),
    db.workloads.list(),
  ]);
  const run = new Map(runs.map((one) => [one.run_id, one]));
  const slug = new Map(workloads.map((one) => [one.workload_id, one.slug]));
  const items = page.map((group): FailureGroup => {
    const example = run.get(group.newest);
    const failure = failureOf(example?.error ?? "", example?.printed);
    const names = [...group.of].map((id) => slug.get(Number(id)) ?? DELETED);
    return {
      ...groupRecord(group, failure, first),
      workloads: [...new Set(names)].sort(),
      example: example === undefined ? null : exampleOf(example, failure.traceback),
    };
  });
  return {
    items,
    ...windowRecord(within, counted_since),
    next_cursor,
  };
}
