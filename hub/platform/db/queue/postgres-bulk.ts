import { TASK_STATE } from "#drizzle/tables/tasks.ts";
import { errorCode } from "../postgres-errors.ts";
import { counterOf } from "./outcome.ts";
import { NOW } from "./postgres-statements.ts";
import { list, type Tx } from "./postgres-tx.ts";
import type { Changed, FoundTask, TaskChange } from "./queue-store.ts";

/** Tasks that are still as they were found, locked in the order of their ids, so that two callers do not deadlock. */
const found = (of = "") => `
with inp as (
  select * from unnest($1::text::bigint[], $2::text::bigint[], $3::text::int[], $4::text::bigint[])
    i(task_id, epoch, state, workload_id)),
locked as materialized (
  select t.task_id from tasks t join inp i on t.task_id = i.task_id and t.epoch = i.epoch and t.state = i.state
    and t.workload_id = i.workload_id
  ${of} order by t.task_id for update of t)`;
const LOCKED = "t.task_id = any (array(select task_id from locked))";

export const RETRY_FOUND = `${found("where t.state = 2")}
update tasks t set state = 0, attempt = 0, crash_count = 0, run_at = ${NOW} where ${LOCKED} returning t.task_id`;

export const REMOVE_FOUND = `${found()},
del as (
  delete from tasks t where ${LOCKED}
  returning t.state, t.task_id, t.epoch, t.worker_id, t.workload_id, t.pk, t.attempt, t.claimed_at),
run as (
  insert into runs (workload_id, task_id, pk, attempt, epoch, outcome, worker_id, started_at, finished_at, duration_ms, error)
  select workload_id, task_id, pk, attempt, epoch, 5, worker_id, claimed_at, ${NOW}, ${NOW} - claimed_at, 'cancelled'
  from del where state = 1)
select task_id from del`;

/** $5: the other workload, $6: its attempts. A delayed task stays delayed. */
export const MOVE_FOUND = `${found("where t.state <> 1")}
update tasks t set workload_id = $5::bigint, attempt = 0, crash_count = 0,
  max_attempts = case when t.follows_workload then $6::int else t.max_attempts end,
  run_at = case when t.state = 3 then t.run_at else ${NOW} end, state = case when t.state = 3 then 3 else 0 end
where ${LOCKED} and not exists (select 1 from tasks o where o.workload_id = $5::bigint and o.pk = t.pk)
returning t.task_id`;

export const STILL_FOUND = `${found("where t.state <> 1")} select task_id from locked`;

/** A key may come into the other queue between the look and the move: then the whole batch is tried again. */
const TRIES = 5;
const UNIQUE = "23505";

const refs = (tasks: readonly FoundTask[]) => [
  list(tasks.map((task) => task.task_id)),
  list(tasks.map((task) => task.epoch)),
  list(tasks.map((task) => task.state)),
  list(tasks.map((task) => task.workload_id)),
];

type Transact = <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;

export async function changeTasks(
  inTransaction: Transact,
  change: TaskChange,
  tasks: readonly FoundTask[],
): Promise<Changed> {
  for (let left = TRIES; ; left -= 1) {
    try {
      return await inTransaction((tx) => changeOnce(tx, change, tasks));
    } catch (err) {
      if (left <= 1 || errorCode(err) !== UNIQUE) throw err;
    }
  }
}

async function changeOnce(
  tx: Tx,
  change: TaskChange,
  tasks: readonly FoundTask[],
): Promise<Changed> {
  if (change.kind === "move") return move(tx, change.to, tasks);
  const statement = change.kind === "retry" ? RETRY_FOUND : REMOVE_FOUND;
  const done = await changed(tx, statement, refs(tasks), tasks);
  for (const { workload_id, state } of done) {
    tx.deltas.move(workload_id, counterOf(state), change.kind === "retry" ? "ready" : null);
    if (state === TASK_STATE.claimed) tx.deltas.ran(workload_id, false);
  }
  return { tasks: done, duplicates: 0 };
}

async function changed(
  { q }: Tx,
  statement: string,
  params: (string | number)[],
  tasks: readonly FoundTask[],
): Promise<FoundTask[]> {
  const rows = await q<{ task_id: number }>(statement, params);
  const ids = new Set(rows.map((row) => row.task_id));
  return tasks.filter((task) => ids.has(task.task_id));
}

async function move(
  tx: Tx,
  to: { workload_id: number; max_attempts: number },
  tasks: readonly FoundTask[],
): Promise<Changed> {
  // Tasks of several workloads may have one key, and one statement does not see what it writes itself.
  const first = [...new Map(tasks.map((task) => [task.pk, task])).values()];
  const params = [...refs(first), to.workload_id, to.max_attempts];
  const done = await changed(tx, MOVE_FOUND, params, tasks);
  for (const { workload_id, state } of done) {
    tx.deltas.move(workload_id, counterOf(state), null);
    tx.deltas.move(to.workload_id, null, state === TASK_STATE.delayed ? "delayed" : "ready");
  }
  const moved = new Set(done.map((task) => task.task_id));
  const rest = tasks.filter((task) => !moved.has(task.task_id));
  if (rest.length === 0) return { tasks: done, duplicates: 0 };
  const still = await tx.q<{ task_id: number }>(STILL_FOUND, refs(rest));
  return { tasks: done, duplicates: still.length };
}
