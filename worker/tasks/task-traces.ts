import { formatTraceparent, parseTraceparent } from "#shared/kit/tracing/trace-context.ts";
import type { Span, Tracer } from "#shared/kit/tracing/tracer.ts";
import type { ClaimedBatch } from "#shared/protocol/schema/pull.ts";
import type { TaskEnd } from "./executor.ts";

/** Spans of the attempts at tasks (rules/spans#a-task). */
export interface TaskTraces {
  /** The batch as its executor gets it: what a task does is within the span of its attempt. */
  begin(batch: ClaimedBatch): ClaimedBatch;
  end(ended: TaskEnd): void;
}

const keyOf = ({ task_id, epoch }: { task_id: number; epoch: number }) => `${task_id}:${epoch}`;

/** Where no collector is named, a task is within what the control plane sent, or within nothing. */
export function createTaskTraces(tracer: Tracer | undefined): TaskTraces | null {
  if (!tracer) return null;
  const open = new Map<string, Span>();
  return {
    begin: (batch) => ({
      ...batch,
      tasks: batch.tasks.map((task) => {
        const span = tracer.start("task", {
          kind: "consumer",
          parent: parseTraceparent(task.traceparent),
          attributes: {
            "flotilla.workload": batch.workload,
            "flotilla.task.id": task.task_id,
            "flotilla.task.attempt": task.attempt,
          },
        });
        open.set(keyOf(task), span);
        return { ...task, traceparent: formatTraceparent(span.context) };
      }),
    }),
    end: ({ task, outcome }) => {
      const span = open.get(keyOf(task));
      open.delete(keyOf(task));
      const word = outcome.kind === "failed" ? outcome.outcome : outcome.kind;
      span?.set({ "flotilla.task.outcome": word });
      // What a task says of its failure may hold what it works on.
      span?.end(outcome.kind === "failed" ? `the attempt ended with ${word}` : null);
    },
  };
}
