import type Client from "better-sqlite3";
import type { Places } from "./limits.ts";
import { REPORTED } from "./outcome.ts";
import type { QueueCounts, QueueRow } from "./queue-store.ts";
import { columnsOf } from "./run-columns.ts";
import { bulkStatements, type Prepare } from "./sqlite-bulk-statements.ts";

const REPORTED_NAMES = columnsOf("both");

interface TaskFields {
  task_id: number;
  epoch: number;
  workload_id: number;
  pk: string;
  attempt: number;
  max_attempts: number;
  crash_count: number;
  worker_id: string | null;
  claimed_at: number;
}

/** The fence: odd epochs are claimed ones, so a client cannot end a task that nobody claimed by sending its even epoch. */
const HELD = "task_id = ? and epoch = ? and epoch % 2 = 1 and worker = ?";

/** For a task `t` and its workload `w`: the limit that counts now. */
const MAX_ATTEMPTS =
  "coalesce(case when t.follows_workload then w.max_attempts end, t.max_attempts) as max_attempts";

const QUEUE_ROW = `task_id, pk, state, attempt, coalesce(case when follows_workload then
    (select w.max_attempts from workloads w where w.workload_id = tasks.workload_id) end, max_attempts) as max_attempts, priority, run_at, worker_id, claimed_at, lease_until,
  last_error, extra, created_at`;

/** Tasks that come in and are claimed, within the limits of their workload. */
const claimStatements = (prepare: Prepare) => ({
  submit: prepare<
    [number, number, number, number, number, number, string, string | null, number]
  >(`insert into tasks (workload_id, state, priority, max_attempts, follows_workload, run_at, pk, extra, created_at)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (workload_id, pk) do nothing`),
  once: prepare<[number, string]>(
    "insert into once_keys (workload_id, pk) values (?, ?) on conflict do nothing",
  ),
  label: prepare<[number | bigint, string, string]>(
    "insert into task_labels (task_id, key, value) values (?, ?, ?)",
  ),
  ready: prepare<
    [number, number],
    Pick<TaskFields, "task_id" | "pk" | "attempt" | "epoch"> & {
      max_attempts: number | null;
      extra: string | null;
      priority: number;
    }
  >(`select task_id, pk, extra, attempt + 1 as attempt,
         case when not follows_workload then max_attempts end as max_attempts, epoch + 1 as epoch, priority from tasks
       where workload_id = +? and state = 0 order by priority desc, task_id limit +?`),
  /** By key: an `update … where task_id in (select …) returning …` takes 200 µs more, for its temporary tables. */
  take: prepare<[string, string, number, number | null, number, number]>(
    `update tasks set state = 1, attempt = attempt + 1, epoch = epoch + 1, worker = ?, worker_id = ?, claimed_at = ?,
         deadline_at = ?, lease_until = ? where task_id = ?`,
  ),
  claimed: prepare<[number], { n: number }>(
    "select coalesce(sum(claimed), 0) as n from workload_stats where workload_id = ?",
  ),
  rateClaims: prepare<{ id: number; after: number }, Omit<Places, "now" | "claimed">>(
    `select coalesce(sum(used), 0) as used, min(at) as oldest_at, max(at) as newest_at,
         coalesce((select used from rate_claims where workload_id = @id and at > @after order by at limit 1), 0) as oldest_used
       from rate_claims where workload_id = @id and at > @after`,
  ),
  useRate: prepare<[number, number, number]>(
    `insert into rate_claims (workload_id, at, used) values (?, ?, ?)
       on conflict (workload_id, at) do update set used = used + excluded.used`,
  ),
  forgetRate: prepare<[number, number]>(
    "delete from rate_claims where workload_id = ? and at <= ?",
  ),
  aheadOfClock: prepare<[number, number], { used: number }>(
    "delete from rate_claims where workload_id = ? and at > ? returning used",
  ),
});

/** Statements for tasks that a worker holds. */
const heldStatements = (prepare: Prepare) => ({
  complete: prepare<
    [number, number, string],
    Pick<TaskFields, "workload_id" | "pk" | "attempt" | "worker_id" | "claimed_at">
  >(`delete from tasks where ${HELD} returning workload_id, pk, attempt, worker_id, claimed_at`),
  held: prepare<[number, number, string], TaskFields>(
    `select task_id, epoch, t.workload_id, pk, attempt, ${MAX_ATTEMPTS}, crash_count, worker_id, claimed_at
       from tasks t left join workloads w on w.workload_id = t.workload_id where ${HELD}`,
  ),
  giveBack: prepare<{
    task_id: number;
    epoch: number;
    state: number;
    run_at: number;
    crash_count: number;
    last_error: string;
    fingerprint: string | null;
  }>(`update tasks set state = @state, epoch = epoch + 1, run_at = @run_at, crash_count = @crash_count,
         last_error = @last_error, fingerprint = @fingerprint, worker = null, worker_id = null, lease_until = null, deadline_at = null,
         claimed_at = null
       where task_id = @task_id and epoch = @epoch`),
  release: prepare<
    [number, number, string | null, number, number, string],
    { workload_id: number }
  >(
    `update tasks set state = ?, attempt = attempt - 1, epoch = epoch + 1, run_at = ?,
         last_error = coalesce(?, last_error), worker = null, worker_id = null, lease_until = null, deadline_at = null,
         claimed_at = null
       where ${HELD} returning workload_id`,
  ),
  renew: prepare<[number, number, number, string]>(
    `update tasks set lease_until = min(?, ifnull(deadline_at, 9e15)) where ${HELD}`,
  ),
  expired: prepare<
    [number, number],
    TaskFields & { worker: string; deadline_at: number | null; backoff: string }
  >(`select t.task_id, t.epoch, t.workload_id, t.pk, t.attempt, ${MAX_ATTEMPTS}, t.crash_count, t.worker, t.worker_id,
         t.claimed_at, t.deadline_at, w.backoff
       from tasks t join workloads w on w.workload_id = t.workload_id
       where t.state = 1 and t.lease_until < +? order by t.lease_until limit +?`),
});

/** Statements for tasks that wait or have failed: bringing them back, and showing them. */
const operatorStatements = (prepare: Prepare) => ({
  due: prepare<[number], { task_id: number }>(
    `select task_id from tasks where state = 3 and run_at <= ? limit 1`,
  ),
  promote: prepare<[number, number], { workload_id: number }>(
    `update tasks set state = 0 where task_id in
         (select task_id from tasks where state = 3 and run_at <= ? order by run_at limit ?) returning workload_id`,
  ),
  cancel: prepare<
    [number, string],
    Omit<TaskFields, "claimed_at"> & {
      state: number;
      worker: string | null;
      claimed_at: number | null;
    }
  >(`delete from tasks where workload_id = ? and pk = ?
       returning state, task_id, epoch, workload_id, pk, attempt, max_attempts, crash_count, worker, worker_id, claimed_at`),
  resetFailed: prepare<[number, number, number]>(
    `update tasks set state = 0, attempt = 0, crash_count = 0, run_at = ? where task_id in
         (select task_id from tasks where workload_id = ? and state = 2 order by task_id limit ?)`,
  ),
  resetOne: prepare<[number, number, string]>(
    `update tasks set state = 0, attempt = 0, crash_count = 0, run_at = ?
       where workload_id = ? and pk = ? and state = 2`,
  ),
  peek: prepare<[number, string, number, number, number], QueueRow>(
    `select ${QUEUE_ROW} from tasks where workload_id = ? and state in (select value from json_each(?)) and task_id > ?
       order by task_id limit ? offset ?`,
  ),
  peekFailed: prepare<[number, number, number, number], QueueRow>(
    `select ${QUEUE_ROW} from tasks where workload_id = ? and state = 2 and task_id > ?
       order by task_id limit ? offset ?`,
  ),
});

/** Runs, and the counters of workloads. */
const runStatements = (prepare: Prepare) => ({
  /** By position, because looking up thirteen names takes a tenth of the insert. */
  insertRun: prepare<(string | number | null)[]>(
    `insert into runs (workload_id, task_id, pk, attempt, epoch, outcome, worker_id, started_at, finished_at,
         duration_ms, ${REPORTED_NAMES.join(", ")})
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?${", ?".repeat(REPORTED_NAMES.length)})`,
  ),
  insertLog: prepare<[number, string, string]>(
    "insert into run_logs (run_id, stdout, stderr) values (?, ?, ?)",
  ),
  runOf: prepare<[number, number], { run_id: number; outcome: number; worker_reported: number }>(
    `select run_id, outcome, outcome in (${REPORTED}) as worker_reported from runs where task_id = ? and epoch = ?`,
  ),
  counts: prepare<{ workload_id: number | null }, QueueCounts>(
    `select workload_id, sum(ready) as ready, sum(claimed) as claimed, sum(failed) as failed, sum(delayed) as delayed,
         last_runs, last_n, max(last_at) as last_at
       from workload_stats where @workload_id is null or workload_id = @workload_id group by workload_id`,
  ),
  addStats: prepare<Record<string, unknown>>(
    `insert into workload_stats (workload_id, node, ready, claimed, failed, delayed, last_runs, last_n, last_at)
       values (@workload_id, @node, @ready, @claimed, @failed, @delayed, @bits, @runs, case when @runs > 0 then @now else 0 end)
       on conflict (workload_id, node) do update set
         ready = ready + @ready, claimed = claimed + @claimed, failed = failed + @failed, delayed = delayed + @delayed,
         last_runs = ((last_runs << @runs) | @bits) & 1048575, last_n = min(20, last_n + @runs),
         last_at = case when @runs > 0 then @now else last_at end`,
  ),
  addRate: prepare<[number, number, string, string, number]>(
    `insert into rate_minutes (minute, workload_id, metric, node, n) values (?, ?, ?, ?, ?)
       on conflict (minute, workload_id, metric, node) do update set n = n + excluded.n`,
  ),
});

export type SqliteStatements = ReturnType<typeof prepareStatements>;

/**
 * Every statement of the queue, prepared once. Each inner select is a search on its partial index
 * (test/contract/queue-plans). `+?` where a select is ordered by a partial index: for a bare parameter SQLite plans the
 * statement again whenever another value is bound (25 µs instead of 2).
 */
export function prepareStatements(client: Client.Database) {
  const prepare: Prepare = (sql) => client.prepare(sql);
  return {
    ...claimStatements(prepare),
    ...heldStatements(prepare),
    ...operatorStatements(prepare),
    ...runStatements(prepare),
    ...bulkStatements(prepare),
  };
}
