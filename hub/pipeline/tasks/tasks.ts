import { cleanJson, cleanText } from "#drizzle/clean.ts";
import type { NewTask } from "#hub/platform/db/queue/queue-store.ts";
import type { WorkloadRow } from "#hub/platform/db/rows.ts";
import { AppError, type Issue, invalid } from "#shared/kit/errors.ts";
import { storedLabels } from "#shared/protocol/schema/labels.ts";
import {
  MAX_EXTRA_BYTES,
  MAX_JSON_DEPTH,
  type SubmitResult,
  type TaskIn,
} from "#shared/protocol/schema/queue.ts";
import type { PipelineContext } from "../context.ts";
import { keepTaskTraces } from "./task-traces.ts";

const MAX_FAULTS = 50;
const encoder = new TextEncoder();

function reachesBelow(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => reachesBelow(inner, levels - 1));
}

/** `text`: the JSON of `value`. Each level takes two characters of it, so most values need no check. */
export const isTooDeep = (value: unknown, text: string): boolean =>
  text.length > 2 * MAX_JSON_DEPTH && reachesBelow(value, MAX_JSON_DEPTH);

/** JSON of `extra` as it is stored. @throws AppError invalid naming the item when it is too large or too deep. */
function extraText(extra: TaskIn["extra"], loc: (string | number)[]): string | null {
  if (extra === undefined || extra === null) return null;
  const text = cleanJson(extra);
  // UTF-8 takes at most three bytes for each UTF-16 unit of a string.
  if (text.length * 3 > MAX_EXTRA_BYTES && encoder.encode(text).length > MAX_EXTRA_BYTES)
    throw invalid([...loc, "extra"], `must be at most ${MAX_EXTRA_BYTES} bytes of JSON`);
  if (isTooDeep(extra, text))
    throw invalid([...loc, "extra"], `must be at most ${MAX_JSON_DEPTH} levels deep`);
  return text;
}

export const newTask = (
  workload: Pick<WorkloadRow, "max_attempts">,
  item: TaskIn,
  loc: (string | number)[],
): NewTask => ({
  pk: cleanText(item.pk),
  extra: extraText(item.extra, loc),
  priority: item.priority ?? 0,
  max_attempts: item.max_attempts ?? workload.max_attempts,
  follows_workload: item.max_attempts === undefined,
  run_at: item.run_at ? Date.parse(item.run_at) : null,
  ...(item.labels && { labels: storedLabels(item.labels) }),
  ...(item.once && { once: true }),
});

/** @throws AppError invalid naming every item that breaks a rule, the first fifty of them */
function newTasks(
  workload: WorkloadRow,
  items: readonly TaskIn[],
  loc: (index: number) => (string | number)[],
): NewTask[] {
  const faults: Issue[] = [];
  const tasks: NewTask[] = [];
  for (const [i, item] of items.entries()) {
    try {
      tasks.push(newTask(workload, item, loc(i)));
    } catch (err) {
      if (!(err instanceof AppError) || typeof err.detail === "string") throw err;
      faults.push(...err.detail);
      if (faults.length >= MAX_FAULTS) break;
    }
  }
  if (faults.length > 0) throw new AppError("invalid", faults);
  return tasks;
}

/**
 * Puts tasks into the workload's queue (rules/pipeline-tasks#duplicates). A key that is pending, claimed or failed is
 * not changed.
 * @throws AppError not_found, invalid naming the item, at_capacity.
 */
export async function submitTasks(
  ctx: Pick<PipelineContext, "pipeline" | "tracer" | "clock">,
  slug: string,
  items: readonly TaskIn[],
  loc: (index: number) => (string | number)[],
): Promise<SubmitResult> {
  const workload = await ctx.pipeline.workloads.require(slug);
  const tasks = newTasks(workload, items, loc);
  const { workload_id } = workload;
  if (tasks.length === 0) return { submitted: 0, duplicates: 0, pks_rejected: [] };
  if (ctx.tracer !== null) await keepTaskTraces(ctx, workload_id, tasks);
  const taken = ctx.pipeline.turns.call({ op: "submit", workload_id, tasks });
  // Waiting claims join this turn's transaction, behind the tasks: starting a task takes one commit instead of two.
  ctx.pipeline.ready.add(workload_id, tasks.length);
  const { submitted, duplicates } = await taken;
  // For claims of another transaction, or another control process, which could not see them.
  if (submitted > 0) ctx.pipeline.wake(workload_id, submitted);
  return { submitted, duplicates, pks_rejected: [] };
}
