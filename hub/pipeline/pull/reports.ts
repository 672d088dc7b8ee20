import { cleanJson, cleanText } from "#drizzle/clean.ts";
import type { DoneTask, NewTask, Report } from "#hub/platform/db/queue/queue-store.ts";
import { PLAIN_COLUMNS, type PlainColumn } from "#hub/platform/db/queue/run-columns.ts";
import type { WorkloadRow } from "#hub/platform/db/rows.ts";
import { fingerprintOf } from "#hub/platform/failures/fingerprint.ts";
import { AppError } from "#shared/kit/errors.ts";
import {
  type DoneItem,
  EmitList,
  type FailedItem,
  type ReleasedItem,
} from "#shared/protocol/schema/pull.ts";
import { MAX_JSON_DEPTH, type TaskIn } from "#shared/protocol/schema/queue.ts";
import type { PipelineContext } from "../context.ts";
import { keepEmittedTraces } from "../tasks/task-traces.ts";
import { isTooDeep, newTask } from "../tasks/tasks.ts";

const printed = (item: DoneItem | FailedItem) => ({
  ...plainColumns(item),
  duration_ms: item.duration_ms,
  stdout: cleanText(item.stdout),
  stderr: cleanText(item.stderr),
});

function plainColumns(item: DoneItem | FailedItem): Pick<DoneItem, PlainColumn> {
  const columns: Partial<Record<PlainColumn, unknown>> = {};
  for (const name of PLAIN_COLUMNS) columns[name] = item[name];
  return columns as Pick<DoneItem, PlainColumn>;
}

/** Records what succeeded; answers each item, in order. A report of an attempt that is over is `stale`. */
export async function completeTasks(
  ctx: Pick<PipelineContext, "pipeline" | "log" | "tracer" | "clock">,
  worker: string,
  items: readonly DoneItem[],
): Promise<Report[]> {
  if (items.length === 0) return [];
  const lists = items.map(({ output }) => emitList(ctx, output));
  await meetWorkloads(ctx, lists);
  const tasks = items.map((item, i): DoneTask => {
    const { task_id, epoch } = item;
    const emit = emitted(ctx, lists[i] ?? []);
    return {
      task_id,
      epoch,
      ...printed(item),
      ...outputOf(item),
      ...(emit.length > 0 ? { emit } : {}),
    };
  });
  if (ctx.tracer !== null) await keepEmittedTraces(ctx, items, tasks);
  const reports = await ctx.pipeline.turns.call({ op: "complete", worker, items: tasks });
  for (const { emit = [] } of tasks)
    for (const { workload_id, tasks: more } of emit) ctx.pipeline.wake(workload_id, more.length);
  return reports;
}

/** JSON of the output. Output that the database could not store is left out, and the run says so. */
function outputOf({ output, stderr }: DoneItem): Partial<DoneTask> & { output: string | null } {
  if (output === undefined) return { output: null };
  const text = cleanJson(output);
  if (!isTooDeep(output, text)) return { output: text };
  const note = `[the output is not kept: it is more than ${MAX_JSON_DEPTH} levels deep]`;
  return { output: null, stderr: `${cleanText(stderr)}\n${note}`, truncated: true };
}

/** `output.emit` of a run; nothing when it is malformed. */
function emitList(ctx: Pick<PipelineContext, "log">, output: unknown): EmitList {
  const raw = (output as { emit?: unknown } | null | undefined)?.emit;
  if (raw === undefined) return [];
  const parsed = EmitList.safeParse(raw);
  if (parsed.success) return parsed.data;
  ctx.log.warn({ reason: parsed.error.issues[0]?.message }, "emit of a run is malformed");
  return [];
}

/** Another control process may have created a workload a moment ago: what a run emits to it must not be lost. */
async function meetWorkloads(
  { pipeline }: Pick<PipelineContext, "pipeline">,
  lists: readonly EmitList[],
) {
  const named = new Set(lists.flat().map(({ workload }) => workload));
  for (const slug of named)
    if (!pipeline.workloads.bySlug(slug)) await pipeline.workloads.find(slug);
}

/** The emitted tasks by workload; a task that names no workload is not submitted. */
function emitted(
  ctx: Pick<PipelineContext, "pipeline" | "log">,
  list: EmitList,
): { workload_id: number; tasks: NewTask[] }[] {
  const groups = new Map<number, NewTask[]>();
  for (const { workload: slug, ...item } of list) {
    const workload = ctx.pipeline.workloads.bySlug(slug);
    if (!workload) {
      ctx.log.warn({ workload: slug }, "a run emitted to a workload that does not exist");
      continue;
    }
    const task = emittedTask(ctx, workload, item);
    if (!task) continue;
    const group = groups.get(workload.workload_id) ?? [];
    group.push(task);
    groups.set(workload.workload_id, group);
  }
  return [...groups].map(([workload_id, tasks]) => ({ workload_id, tasks }));
}

/** Null for a task that breaks a rule; the run that emitted it is recorded regardless. */
function emittedTask(
  ctx: Pick<PipelineContext, "log">,
  workload: WorkloadRow,
  item: TaskIn,
): NewTask | null {
  try {
    return newTask(workload, item, ["emit"]);
  } catch (err) {
    if (!(err instanceof AppError)) throw err;
    ctx.log.warn({ workload: workload.slug, reason: err.message }, "refused an emitted task");
    return null;
  }
}

/** Records what failed: each waits for its workload's backoff or fails for good. */
export async function failTasks(
  ctx: Pick<PipelineContext, "pipeline">,
  worker: string,
  items: readonly FailedItem[],
): Promise<Report[]> {
  const groups = new Map<string, FailedItem[]>();
  for (const item of items) {
    const group = groups.get(item.workload) ?? [];
    group.push(item);
    groups.set(item.workload, group);
  }
  const answers = await Promise.all(
    [...groups].map(async ([slug, group]): Promise<Report[]> => {
      const workload = await ctx.pipeline.workloads.find(slug);
      if (!workload)
        return group.map(({ task_id, epoch }) => ({
          task_id,
          epoch,
          run_id: null,
          status: "stale" as const,
        }));
      const { workload_id, backoff } = workload;
      return ctx.pipeline.turns.call({
        op: "fail",
        worker,
        workload_id,
        backoff,
        items: group.map((item) => ({
          task_id: item.task_id,
          epoch: item.epoch,
          ...printed(item),
          outcome: item.outcome,
          error: cleanText(item.error),
          fingerprint: fingerprintOf(item.error, item.stderr),
          retry_after_ms: item.retry_after_ms,
          no_retry: item.no_retry,
        })),
      });
    }),
  );
  const of = new Map(answers.flat().map((report) => [`${report.task_id}:${report.epoch}`, report]));
  return items.map(
    ({ task_id, epoch }) =>
      of.get(`${task_id}:${epoch}`) ?? { task_id, epoch, status: "stale", run_id: null },
  );
}

/** Gives back, without using up an attempt, tasks that were not started or that asked to run later. */
export const releaseTasks = async (
  ctx: Pick<PipelineContext, "pipeline">,
  worker: string,
  items: ReleasedItem[],
): Promise<Report[]> => {
  if (items.length === 0) return [];
  const cleaned = items.map((item) => ({ ...item, reason: cleanText(item.reason) }));
  return ctx.pipeline.turns.call({ op: "release", worker, items: cleaned });
};
