import type Client from "better-sqlite3";
import type { FoundTask } from "./queue-store.ts";

export type Prepare = <P extends unknown[] | object, R = unknown>(
  sql: string,
) => Client.Statement<P extends unknown[] ? P : [P], R>;

type AsFound = [task_id: number, epoch: number, state: number, workload_id: number];
const AS_FOUND = "task_id = ? and epoch = ? and state = ? and workload_id = ?";
export const asFound = ({ task_id, epoch, state, workload_id }: FoundTask): AsFound => [
  task_id,
  epoch,
  state,
  workload_id,
];

/** Statements for one of many tasks; the transaction makes them one change. */
export const bulkStatements = (prepare: Prepare) => ({
  retryFound: prepare<[now: number, ...AsFound]>(
    `update tasks set state = 0, attempt = 0, crash_count = 0, run_at = ? where ${AS_FOUND} and state = 2`,
  ),
  removeFound: prepare<
    AsFound,
    { attempt: number; worker_id: string | null; claimed_at: number | null }
  >(`delete from tasks where ${AS_FOUND} returning attempt, worker_id, claimed_at`),
  /** A delayed task stays delayed; its key in the other queue makes it stay where it is. */
  moveFound: prepare<[to: number, max_attempts: number, now: number, ...AsFound]>(
    `update or ignore tasks set workload_id = ?, attempt = 0, crash_count = 0,
         max_attempts = case when follows_workload then ? else max_attempts end,
         run_at = case when state = 3 then run_at else ? end, state = case when state = 3 then 3 else 0 end
       where ${AS_FOUND} and state <> 1`,
  ),
  isFound: prepare<AsFound, { found: number }>(`select 1 as found from tasks where ${AS_FOUND}`),
});
