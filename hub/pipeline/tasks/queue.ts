import type { z } from "@hono/zod-openapi";
import { TASK_STATE } from "#drizzle/tables/tasks.ts";
import type {
  QueueCounts as StoredCounts,
  QueueRow as StoredRow,
} from "#hub/platform/db/queue/queue-store.ts";
import { pageOfRows } from "#hub/platform/page-of-rows.ts";
import { isoTime, isoTimeOrNull } from "#shared/kit/clock.ts";
import { conflict, notFound } from "#shared/kit/errors.ts";
import type { Labels } from "#shared/protocol/schema/labels.ts";
import {
  type PeekQuery,
  type QueueCounts,
  type QueuePeek,
  type QueueRow,
  TaskKey,
} from "#shared/protocol/schema/queue.ts";
import type { PipelineContext } from "../context.ts";

/** In the API a delayed task is pending. */
export const STATES: Record<QueueRow["state"], readonly number[]> = {
  pending: [TASK_STATE.ready, TASK_STATE.delayed],
  claimed: [TASK_STATE.claimed],
  failed: [TASK_STATE.failed],
};
const PEEKED = { ...STATES, ready: [TASK_STATE.ready], delayed: [TASK_STATE.delayed] };
const NAMES = new Map(
  Object.entries(STATES).flatMap(([name, codes]) =>
    codes.map((code) => [code, name as QueueRow["state"]] as const),
  ),
);
export const stateName = (code: number): QueueRow["state"] => NAMES.get(code) ?? "pending";
/** Failed rows made ready in one transaction. */
const RESET_BATCH = 5_000;

export function queueCounts(row: StoredCounts | undefined): QueueCounts {
  const { ready = 0, delayed = 0, claimed = 0, failed = 0 } = row ?? {};
  const pending = ready + delayed;
  return { pending, claimed, failed, total: pending + claimed + failed };
}

/** GET …/queue (rules/pipeline-queue#queue-counts): from counters, so it costs the same for ten tasks and ten million. */
export async function getCounts(
  ctx: Pick<PipelineContext, "db" | "pipeline">,
  slug: string,
): Promise<QueueCounts> {
  // Read from the database, so that a client that just deleted the workload at another control plane does not see its
  // counts.
  const workload = await ctx.db.workloads.get(slug);
  if (!workload) throw notFound("workload");
  const [row] = await ctx.pipeline.store.counts(workload.workload_id);
  return queueCounts(row);
}

const queueRow = (row: StoredRow, labels: Labels = {}): QueueRow => {
  const { task_id: _id, ...rest } = row;
  return {
    ...rest,
    state: stateName(row.state),
    extra: row.extra === null ? null : JSON.parse(row.extra),
    run_at: isoTime(row.run_at),
    claimed_at: isoTimeOrNull(row.claimed_at),
    lease_until: isoTimeOrNull(row.lease_until),
    created_at: isoTime(row.created_at),
    labels,
  };
};

/** GET …/queue/peek: oldest first. */
export async function peekQueue(
  ctx: Pick<PipelineContext, "pipeline" | "db">,
  slug: string,
  { state, limit, offset, cursor, label }: z.infer<typeof PeekQuery>,
): Promise<z.infer<typeof QueuePeek>> {
  const { workload_id } = await ctx.pipeline.workloads.require(slug);
  const states = state ? PEEKED[state] : Object.values(STATES).flat();
  const { store } = ctx.pipeline;
  const { page, next_cursor } = await pageOfRows(
    limit,
    (rows) =>
      label
        ? labelledRows(ctx, slug, {
            workload_id,
            states,
            label,
            limit: rows,
            offset,
            after: cursor ?? 0,
          })
        : store.peek(workload_id, states, rows, offset, cursor),
    ({ task_id }) => String(task_id),
  );
  const next_offset = next_cursor === null ? null : offset + limit;
  const labels = await ctx.db.task_labels.of(page.map(({ task_id }) => task_id));
  const rows = page.map((row) => queueRow(row, labels.get(row.task_id)));
  return { rows, next_offset, next_cursor };
}

/** From the labels' index, as the queue would show them. */
async function labelledRows(
  { db }: Pick<PipelineContext, "db">,
  slug: string,
  filter: Parameters<PipelineContext["db"]["task_labels"]["tasks"]>[0],
): Promise<StoredRow[]> {
  // Not the hub's own copy: another hub may just have changed it.
  const workload = await db.workloads.get(slug);
  return (await db.task_labels.tasks(filter)).map((row) => ({
    ...row,
    max_attempts: (row.follows_workload ? workload?.max_attempts : null) ?? row.max_attempts,
    extra: row.extra === null ? null : JSON.stringify(row.extra),
  }));
}

/**
 * POST …/queue/reset-failed: every failed row becomes pending, with all its attempts
 * (rules/pipeline-queue#retry-all-failed-tasks).
 */
export async function resetFailed(
  ctx: Pick<PipelineContext, "pipeline">,
  slug: string,
): Promise<number> {
  const { workload_id } = await ctx.pipeline.workloads.require(slug);
  let reset = 0;
  for (let n = RESET_BATCH; n === RESET_BATCH; ) {
    n = await ctx.pipeline.store.resetFailed(workload_id, RESET_BATCH);
    reset += n;
    if (n > 0) ctx.pipeline.wake(workload_id, n);
  }
  return reset;
}

/**
 * POST …/queue/{pk}/reset: one failed row becomes pending.
 * @throws AppError not_found; conflict when it is in the queue and not failed
 */
export async function resetTask(
  ctx: Pick<PipelineContext, "pipeline" | "db">,
  slug: string,
  pk: string,
): Promise<void> {
  const { workload_id } = await ctx.pipeline.workloads.require(slug);
  const isKey = TaskKey.safeParse(pk).success;
  if (isKey && (await ctx.pipeline.store.resetFailed(workload_id, 1, pk)) > 0)
    return ctx.pipeline.wake(workload_id, 1);
  const task = isKey ? await ctx.db.runs.task(workload_id, pk) : null;
  if (!task) throw notFound("task");
  throw conflict(`the task is ${stateName(task.state)}, not failed`);
}

/** DELETE …/queue/{pk}: removes a pending or failed task, cancels a claimed one. @throws AppError not_found */
export async function removeTask(
  ctx: Pick<PipelineContext, "pipeline" | "log">,
  slug: string,
  pk: string,
): Promise<void> {
  const { workload_id } = await ctx.pipeline.workloads.require(slug);
  const isKey = TaskKey.safeParse(pk).success;
  const removed = isKey ? await ctx.pipeline.store.cancel(workload_id, pk) : null;
  if (!removed) throw notFound("task");
  ctx.log.info({ workload: slug, pk, was: NAMES.get(removed.state) }, "task removed");
}
