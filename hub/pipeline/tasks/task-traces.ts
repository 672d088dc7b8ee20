import { createHash } from "node:crypto";
import type { ClaimedTask, DoneTask } from "#hub/platform/db/queue/queue-store.ts";
import type { WorkloadRow } from "#hub/platform/db/rows.ts";
import { currentTrace } from "#hub/platform/tracing/current-trace.ts";
import type { HubTracer } from "#hub/platform/tracing/hub-tracer.ts";
import {
  childOf,
  formatTraceparent,
  parseTraceparent,
  type TraceContext,
} from "#shared/kit/tracing/trace-context.ts";
import type { DoneItem } from "#shared/protocol/schema/pull.ts";
import type { PipelineContext } from "../context.ts";
import type { SlotTasks } from "../pull/claims.ts";

type TraceDeps = Pick<PipelineContext, "tracer" | "clock">;

/** A larger submit is one span: so many entries would be more work than the tasks. */
const MOST_KEPT = 1_000;

const keyOf = (workload_id: number, pk: string): string => {
  const hash = createHash("sha256").update(pk).digest("hex").slice(0, 32);
  return `task:${workload_id}:${hash}`;
};

/**
 * Keeps what these tasks are within, for when they are claimed (rules/spans#a-task): the call that submits them, or the
 * attempt that emits them.
 */
export async function keepTaskTraces(
  { tracer, clock }: TraceDeps,
  workload_id: number,
  tasks: readonly { pk: string }[],
  parent: TraceContext | null = currentTrace(),
): Promise<void> {
  if (tracer === null || !parent?.sampled || tasks.length > MOST_KEPT) return;
  const kept = { traceparent: formatTraceparent(parent), parent_id: null, at: clock.now() };
  await Promise.all(tasks.map(({ pk }) => tracer.kept.keep(keyOf(workload_id, pk), kept)));
}

/** What runs emit, each within the attempt that did; `tasks` are those of `items`, in order. */
export async function keepEmittedTraces(
  ctx: TraceDeps,
  items: readonly Pick<DoneItem, "traceparent">[],
  tasks: readonly Pick<DoneTask, "emit">[],
): Promise<void> {
  for (const [i, { emit = [] }] of tasks.entries()) {
    const parent = parseTraceparent(items[i]?.traceparent);
    if (parent === null) continue;
    for (const { workload_id, tasks: emitted } of emit)
      await keepTaskTraces(ctx, workload_id, emitted, parent);
  }
}

/** Tells how long claimed tasks waited, and gives each what its attempt is within. */
export async function tracedBatches(ctx: TraceDeps, batches: SlotTasks[]): Promise<SlotTasks[]> {
  const { tracer } = ctx;
  if (tracer === null) return batches;
  return Promise.all(
    batches.map(async (batch) => ({
      ...batch,
      tasks: await Promise.all(
        batch.tasks.map((task) => traceClaimed(ctx, tracer, batch.workload, task)),
      ),
    })),
  );
}

async function traceClaimed(
  { clock }: Pick<TraceDeps, "clock">,
  tracer: HubTracer,
  { workload_id, slug }: WorkloadRow,
  task: ClaimedTask,
): Promise<ClaimedTask> {
  const key = keyOf(workload_id, task.pk);
  const kept = await tracer.kept.find(key);
  if (kept === null) return task;
  const { context, parent_id, at } = kept;
  const traceparent = formatTraceparent(context);
  void tracer.kept.begun(key, { traceparent, parent_id, at });
  // Later attempts have their own spans; what they waited for in between is in their runs.
  if (task.attempt === 1)
    tracer.tell(childOf(context), {
      name: "task queued",
      kind: "internal",
      parent_id: context.span_id,
      from: at,
      to: clock.now(),
      attributes: { "flotilla.workload": slug, "flotilla.task.id": task.task_id },
      failure: null,
    });
  return { ...task, traceparent };
}
