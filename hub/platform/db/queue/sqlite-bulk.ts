import { TASK_STATE } from "#drizzle/tables/tasks.ts";
import { counterOf, outcomeCode } from "./outcome.ts";
import type { Changed, FoundTask, TaskChange } from "./queue-store.ts";
import { asFound } from "./sqlite-bulk-statements.ts";
import { type Tx, writeRun } from "./sqlite-tx.ts";

export function changeTasks(tx: Tx, change: TaskChange, tasks: readonly FoundTask[]): Changed {
  if (change.kind === "move") return move(tx, change.to, tasks);
  const one = change.kind === "retry" ? retry : remove;
  return { tasks: tasks.filter((task) => one(tx, task)), duplicates: 0 };
}

function retry({ s, now, deltas }: Tx, task: FoundTask): boolean {
  const done = s.retryFound.run(now, ...asFound(task)).changes === 1;
  if (done) deltas.move(task.workload_id, "failed", "ready");
  return done;
}

function remove(tx: Tx, task: FoundTask): boolean {
  const { state, workload_id } = task;
  const gone = tx.s.removeFound.get(...asFound(task));
  if (!gone) return false;
  tx.deltas.move(workload_id, counterOf(state), null);
  const { claimed_at } = gone;
  if (state === TASK_STATE.claimed && claimed_at !== null)
    writeRun(
      tx,
      task,
      { ...task, ...gone, claimed_at },
      {
        outcome: outcomeCode("cancelled"),
        duration_ms: tx.now - claimed_at,
        error: "cancelled",
      },
    );
  return true;
}

function move(
  { s, now, deltas }: Tx,
  to: { workload_id: number; max_attempts: number },
  tasks: readonly FoundTask[],
): Changed {
  const moved: FoundTask[] = [];
  let duplicates = 0;
  for (const task of tasks) {
    const { state, workload_id } = task;
    const { changes } = s.moveFound.run(to.workload_id, to.max_attempts, now, ...asFound(task));
    if (changes === 0) {
      if (state !== TASK_STATE.claimed && s.isFound.get(...asFound(task))) duplicates += 1;
      continue;
    }
    moved.push(task);
    deltas.move(workload_id, counterOf(state), null);
    deltas.move(to.workload_id, null, state === TASK_STATE.delayed ? "delayed" : "ready");
  }
  return { tasks: moved, duplicates };
}
