import type { Deltas } from "./deltas.ts";
import { SUCCESS } from "./outcome.ts";
import type { AttemptRef } from "./queue-store.ts";
import { type AnyColumns, columnsOf, storedValue } from "./run-columns.ts";
import type { SqliteStatements } from "./sqlite-statements.ts";

/** A transaction of the queue, and its changes of the counters. */
export interface Tx {
  now: number;
  s: SqliteStatements;
  random: () => number;
  deltas: Deltas;
}

interface Ended {
  workload_id: number;
  pk: string;
  attempt: number;
  worker_id: string | null;
  claimed_at: number;
}

const REPORTED = columnsOf("both");
/** SQLite has no booleans. */
const bound = (value: ReturnType<typeof storedValue>): string | number | null =>
  typeof value === "boolean" ? Number(value) : value;

export function writeRun(
  tx: Tx,
  ref: AttemptRef,
  task: Ended,
  end: AnyColumns & {
    outcome: number;
    duration_ms: number;
    stdout?: string;
    stderr?: string;
  },
): number {
  const { stdout = "", stderr = "" } = end;
  const values = [
    task.workload_id,
    ref.task_id,
    task.pk,
    task.attempt,
    ref.epoch,
    end.outcome,
    task.worker_id,
    task.claimed_at,
    tx.now,
    end.duration_ms,
  ];
  for (const name of REPORTED) values.push(bound(storedValue(name, end)));
  const { lastInsertRowid } = tx.s.insertRun.run(...values);
  const run_id = Number(lastInsertRowid);
  if (stdout !== "" || stderr !== "") tx.s.insertLog.run(run_id, stdout, stderr);
  tx.deltas.ran(task.workload_id, end.outcome === SUCCESS);
  return run_id;
}
