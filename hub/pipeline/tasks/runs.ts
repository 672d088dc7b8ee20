import { RUN_OUTCOMES } from "#drizzle/tables/runs.ts";
import type { RunRow } from "#hub/platform/db/rows.ts";
import { isoTime } from "#shared/kit/clock.ts";
import { notFound } from "#shared/kit/errors.ts";
import type { Labels } from "#shared/protocol/schema/labels.ts";
import type { Run, RunList, RunsQuery } from "#shared/protocol/schema/queue.ts";
import type { PipelineContext } from "../context.ts";
import { NO_NOTES, notesRecord } from "./notes.ts";
import { searchRuns } from "./search-runs.ts";

/** Stands for the workload of a run once the workload is deleted. */
export const DELETED = "(deleted)";

/** A run as the wire shows it (rules/pipeline-runs#fields-of-a-run). */
export const runRecord = (row: RunRow, labels: Labels = {}): Run => ({
  run_id: row.run_id,
  workload: row.slug ?? DELETED,
  pk: row.pk,
  attempt: row.attempt,
  success: RUN_OUTCOMES[row.outcome] === "success",
  outcome: RUN_OUTCOMES[row.outcome] ?? "error",
  worker_id: row.worker_id,
  started_at: isoTime(row.started_at),
  finished_at: isoTime(row.finished_at),
  duration_ms: row.duration_ms,
  output_json: row.output,
  stdout: row.stdout,
  stderr: row.stderr,
  truncated: row.truncated,
  error: row.error,
  fingerprint: row.fingerprint,
  labels,
  ...(row.notes === null ? NO_NOTES : notesRecord(row.notes)),
});

/** The same with the labels of their tasks. */
export async function runRecords(
  { db }: Pick<PipelineContext, "db">,
  rows: readonly RunRow[],
): Promise<Run[]> {
  const labels = await db.task_labels.of(rows.map(({ task_id }) => task_id));
  return rows.map((row) => runRecord(row, labels.get(row.task_id)));
}

/** Newest first, of one workload or of all. @throws AppError not_found */
export async function listRuns(
  ctx: Pick<PipelineContext, "pipeline" | "db" | "clock">,
  { outcome, since, until, cursor, ...query }: RunsQuery,
  slug?: string,
): Promise<RunList> {
  const workload_id =
    slug === undefined ? undefined : (await ctx.pipeline.workloads.require(slug)).workload_id;
  const { rows, next_before } = await searchRuns(ctx, {
    ...query,
    workload_id,
    before: cursor ?? query.before,
    outcome: outcome && RUN_OUTCOMES.indexOf(outcome),
    since: since === undefined ? undefined : Date.parse(since),
    until: until === undefined ? undefined : Date.parse(until),
  });
  const next_cursor = next_before === null ? null : String(next_before);
  return { runs: await runRecords(ctx, rows), next_before, next_cursor };
}

/** @throws AppError not_found */
export async function getRun(ctx: Pick<PipelineContext, "db">, run_id: number): Promise<Run> {
  const row = Number.isSafeInteger(run_id) ? await ctx.db.runs.get(run_id) : null;
  if (!row) throw notFound("run");
  const [record] = await runRecords(ctx, [row]);
  if (!record) throw notFound("run");
  return record;
}
