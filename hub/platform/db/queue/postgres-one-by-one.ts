import { TASK_STATE } from "#drizzle/tables/tasks.ts";
import { counterOf } from "./outcome.ts";
import { CANCEL, PROMOTE } from "./postgres-statements.ts";
import type { Tx } from "./postgres-tx.ts";
import type { CancelledTask } from "./queue-store.ts";

/** Transitions that no worker asks for: a delay that is over, and a person who removes a task. */

export async function promote(tx: Tx, limit: number): Promise<Map<number, number>> {
  const rows = await tx.q<{ workload_id: number; n: number }>(PROMOTE, [limit]);
  for (const { workload_id, n } of rows) tx.deltas.move(workload_id, "delayed", "ready", n);
  return new Map(rows.map(({ workload_id, n }) => [workload_id, n]));
}

export async function cancel(
  tx: Tx,
  workload_id: number,
  pk: string,
): Promise<CancelledTask | null> {
  const [task] = await tx.q<CancelledTask>(CANCEL, [workload_id, pk]);
  if (!task) return null;
  tx.deltas.move(workload_id, counterOf(task.state), null);
  if (task.state === TASK_STATE.claimed) tx.deltas.ran(workload_id, false);
  return task;
}
