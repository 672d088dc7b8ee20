import type { TaskStatus } from "#shared/protocol/schema/queue.ts";
import type { PipelineContext } from "../context.ts";
import { stateName } from "./queue.ts";

/**
 * POST …/tasks/status: the state of the tasks with these keys. One that is not in the queue is `absent`: it succeeded,
 * was removed, or never existed.
 * @throws AppError not_found
 */
export async function taskStatus(
  ctx: Pick<PipelineContext, "pipeline" | "db">,
  slug: string,
  pks: readonly string[],
): Promise<TaskStatus> {
  const { workload_id } = await ctx.pipeline.workloads.require(slug);
  const found = await ctx.db.runs.taskStates(workload_id, pks);
  const items = found.map(({ pk, state }) => ({ pk, state: stateName(state) }));
  const counts = { pending: 0, claimed: 0, failed: 0 };
  for (const { state } of items) counts[state] += 1;
  return { ...counts, absent: new Set(pks).size - items.length, items };
}
