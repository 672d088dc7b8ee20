import type { RunRow, TaskRow, WorkloadRow } from "#hub/platform/db/rows.ts";
import { isoTime, isoTimeOrNull } from "#shared/kit/clock.ts";
import { notFound } from "#shared/kit/errors.ts";
import type { Labels } from "#shared/protocol/schema/labels.ts";
import {
  type QueueRow,
  type RunAttempt,
  type TaskHistory,
  TaskKey,
} from "#shared/protocol/schema/queue.ts";
import type { PipelineContext } from "../context.ts";
import { stateName } from "./queue.ts";
import { runRecord } from "./runs.ts";
import { searchRuns } from "./search-runs.ts";

/** The newest attempts in one answer: a task has at most 1,000, and as many again each time it is retried. */
const MAX_ATTEMPTS = 200;

const attemptRecord = (row: RunRow, labels: Labels): RunAttempt => {
  const record = runRecord(row, labels);
  const { output_json: _output, stdout: _stdout, stderr: _stderr, ...told } = record;
  const { progress: _progress, log: _log, log_dropped: _dropped, ...rest } = told;
  return rest;
};

const taskRecord = (row: TaskRow, workload: WorkloadRow | null, labels: Labels): QueueRow => ({
  pk: row.pk,
  state: stateName(row.state),
  attempt: row.attempt,
  max_attempts: (row.follows_workload ? workload?.max_attempts : null) ?? row.max_attempts,
  priority: row.priority,
  run_at: isoTime(row.run_at),
  worker_id: row.worker_id,
  claimed_at: isoTimeOrNull(row.claimed_at),
  lease_until: isoTimeOrNull(row.lease_until),
  last_error: row.last_error,
  extra: row.extra,
  created_at: isoTime(row.created_at),
  labels,
});

async function historyOf(
  { db }: Pick<PipelineContext, "db">,
  of: { workload: string; pk: string; task_id: number },
  task: TaskRow | null,
): Promise<TaskHistory> {
  const rows = await db.runs.ofTask(of.task_id, MAX_ATTEMPTS);
  const labels = (await db.task_labels.of([of.task_id])).get(of.task_id) ?? {};
  return {
    workload: of.workload,
    pk: of.pk,
    // A key that was submitted again names another task.
    task:
      task?.task_id === of.task_id
        ? // Not the hub's own copy: another hub may just have changed it.
          taskRecord(task, await db.workloads.get(of.workload), labels)
        : null,
    attempts: rows.reverse().map((row) => attemptRecord(row, labels)),
  };
}

/** GET /runs/{run_id}/task. @throws AppError not_found */
export async function getTaskOfRun(
  ctx: Pick<PipelineContext, "db">,
  run_id: number,
): Promise<TaskHistory> {
  const [row] = Number.isSafeInteger(run_id)
    ? await ctx.db.runs.list({ before: run_id + 1, from: run_id, limit: 1, brief: true })
    : [];
  if (!row) throw notFound("run");
  const { workload } = runRecord(row);
  const task = await ctx.db.runs.task(row.workload_id, row.pk);
  return historyOf(ctx, { workload, pk: row.pk, task_id: row.task_id }, task);
}

/**
 * GET /workloads/{slug}/tasks/{pk}: the task in the queue, else the last one with this key that ended recently.
 * @throws AppError not_found
 */
export async function getTask(
  ctx: Pick<PipelineContext, "pipeline" | "db" | "clock">,
  slug: string,
  pk: string,
): Promise<TaskHistory> {
  const { workload_id } = await ctx.pipeline.workloads.require(slug);
  if (!TaskKey.safeParse(pk).success) throw notFound("task");
  const task = await ctx.db.runs.task(workload_id, pk);
  if (task) return historyOf(ctx, { workload: slug, pk, task_id: task.task_id }, task);
  const { rows } = await searchRuns(ctx, { workload_id, pk, limit: 1, brief: true });
  if (!rows[0]) throw notFound("task");
  return historyOf(ctx, { workload: slug, pk, task_id: rows[0].task_id }, null);
}
