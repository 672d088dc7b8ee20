import type { Conn } from "#hub/platform/db/conn.ts";
import { flowRepo } from "#hub/platform/db/flow.ts";
import * as BULK from "#hub/platform/db/queue/postgres-bulk.ts";
import * as SQL from "#hub/platform/db/queue/postgres-statements.ts";
import { retentionRepo } from "#hub/platform/db/retention/repo.ts";
import { runNotesRepo } from "#hub/platform/db/run-notes.ts";
import { runsRepo } from "#hub/platform/db/runs.ts";
import { triageRepo } from "#hub/platform/db/triage/repo.ts";
import { viewsRepo } from "#hub/platform/db/views.ts";
import { type Recorded, recordStatements } from "../fakes/recorded-statements.ts";

/** The tables whose size is the pipeline's: reading one from end to end is what must not happen. */
export const LARGE = ["tasks", "runs", "run_logs", "run_notes", "rate_minutes"];
const NOW = 1_700_000_000_000;
const ids = (n: number) => Array.from({ length: n }, (_, i) => 1 + i * 7);
const TASK = { task_id: 7, pk: "k5" };
const PIECE = { before: { finished_at: NOW, run_id: 7 }, since: NOW - 9, bucket_ms: 1_000 };
const listOf = (values: unknown[]) => `{${values.join(",")}}`;
export const repeat = <T>(n: number, value: T): T[] => new Array<T>(n).fill(value);

export interface Case {
  name: string;
  index: string | RegExp;
  sql: string;
  params: unknown[];
}

/** Drizzle's statements, by what makes them. `nth`: which of those a call sends. */
const REPO_CASES: {
  name: string;
  index: string | RegExp;
  call: (conn: Conn) => Promise<unknown>;
  rows?: unknown[][];
  nth?: number;
}[] = [
  { name: "claimed tasks", index: "tasks_lease_idx", call: (c) => viewsRepo(c).claimed() },
  {
    name: "leases of a worker",
    index: "tasks_lease_idx",
    call: (c) => viewsRepo(c).leases("w1", 500),
  },
  { name: "oldest ready", index: "tasks_ready_idx", call: (c) => viewsRepo(c).oldestReady() },
  {
    name: "recent failures",
    index: "runs_failed_idx",
    call: (c) => viewsRepo(c).failures(NOW - 1, 20),
  },
  { name: "last runs", index: "runs_workload_idx", call: (c) => viewsRepo(c).lastRuns(20) },
  {
    name: "who ran what",
    index: /runs_pkey|rowid/,
    call: (c) => viewsRepo(c).recentPairs(1_000, 0),
  },
  { name: "runs of all", index: /runs_pkey|rowid/, call: (c) => runsRepo(c).list({ limit: 50 }) },
  {
    name: "runs of one workload",
    index: "runs_workload_idx",
    call: (c) => runsRepo(c).list({ workload_id: 3, before: 90_000, limit: 50 }),
  },
  {
    name: "failed runs of one workload",
    index: "runs_workload_failed_idx",
    call: (c) => runsRepo(c).list({ workload_id: 3, success: false, limit: 50 }),
  },
  {
    name: "runs within bounds by worker",
    index: /runs_pkey|rowid/,
    call: (c) => runsRepo(c).list({ before: 90_000, from: 70_000, worker_id: "w1", limit: 50 }),
  },
  { name: "attempts of a task", index: "runs_attempt_idx", call: (c) => runsRepo(c).ofTask(7, 50) },
  { name: "a task by its key", index: "tasks_pk_idx", call: (c) => runsRepo(c).task(3, "k5") },
  {
    name: "states of tasks by their keys",
    index: "tasks_pk_idx",
    call: (c) => runsRepo(c).taskStates(3, ["k5", "k6"]),
  },
  {
    name: "runs that failed alike",
    index: "runs_fingerprint_idx",
    call: (c) => runsRepo(c).list({ fingerprint: "k5", limit: 50 }),
  },
  {
    name: "runs that failed alike, a later page",
    index: "runs_fingerprint_idx",
    call: (c) => runsRepo(c).list({ fingerprint: "k5", before: 90_000, limit: 50 }),
  },
  {
    name: "groups: where a piece begins",
    index: "runs_failed_idx",
    call: (c) => triageRepo(c).placeBefore({ finished_at: NOW, run_id: 7 }, NOW - 9, 20_000),
  },
  {
    name: "groups: count a piece",
    index: "runs_failed_idx",
    call: (c) => triageRepo(c).countFailures({ ...PIECE, from: PIECE.before }, {}),
  },
  {
    name: "groups: count one of a workload",
    index: "runs_failed_idx",
    call: (c) =>
      triageRepo(c).countFailures(
        { ...PIECE, from: null },
        { workload_id: 3, worker_id: "w", fingerprint: "k5", text: "x" },
      ),
  },
  {
    name: "groups: first seen",
    index: "runs_fingerprint_idx",
    call: (c) => triageRepo(c).firstSeen(["k5", "k6"]),
  },
  {
    name: "groups: examples",
    index: /runs_pkey|rowid/,
    call: (c) => triageRepo(c).examples([7, 8]),
  },
  {
    name: "tasks by fingerprint",
    index: "tasks_fingerprint_idx",
    call: (c) =>
      triageRepo(c).findTasks({ workload_id: null, states: [2], fingerprint: "k5" }, TASK, 1_000),
  },
  {
    name: "tasks by fingerprint, counted",
    index: "tasks_fingerprint_idx",
    call: (c) =>
      triageRepo(c).countTasks({ workload_id: 3, states: [2], fingerprint: "k5" }, null, 20_000),
  },
  {
    name: "failed tasks by a text",
    index: "tasks_failed_idx",
    call: (c) => triageRepo(c).findTasks({ workload_id: 3, states: [2], text: "x" }, TASK, 1_000),
  },
  {
    name: "failed tasks by when they failed",
    index: /tasks_failed_idx/,
    call: (c) =>
      triageRepo(c).countTasks({ workload_id: 3, states: [2], since: NOW }, null, 20_000),
  },
  {
    name: "waiting tasks by a text",
    index: "tasks_pk_idx",
    call: (c) =>
      triageRepo(c).findTasks({ workload_id: 3, states: [0, 3], text: "x" }, TASK, 1_000),
  },
  { name: "a run", index: /runs_pkey|rowid/, call: (c) => runsRepo(c).get(77) },
  {
    name: "retention: the oldest runs",
    index: /runs_pkey|rowid/,
    call: (c) => retentionRepo(c).expireRuns({ after: 5, finished_before: NOW, limit: 1_000 }),
  },
  {
    name: "retention: delete logs",
    index: /run_logs_run_id_pk|rowid|autoindex_run_logs/,
    rows: ids(1_000).map((id) => [id, id, 1, 1]),
    nth: 3,
    call: (c) => retentionRepo(c).expireRuns({ after: 5, finished_before: NOW, limit: 1_000 }),
  },
  {
    name: "retention: find notes",
    index: /run_notes_task_id_epoch_pk|autoindex_run_notes/,
    rows: ids(1_000).map((id) => [id, id, 1, 1]),
    nth: 1,
    call: (c) => retentionRepo(c).expireRuns({ after: 5, finished_before: NOW, limit: 1_000 }),
  },
  {
    name: "retention: old notes",
    index: "run_notes_updated_idx",
    call: (c) => runNotesRepo(c).prune(NOW, 1_000),
  },
  {
    name: "retention: delete old notes",
    index: /run_notes_(task_id_epoch_pk|updated_idx)|autoindex_run_notes/,
    rows: ids(1_000).map((id) => [id]),
    nth: 1,
    call: (c) => runNotesRepo(c).prune(NOW, 1_000),
  },
  {
    name: "notes of attempts",
    index: /run_notes_task_id_epoch_pk|autoindex_run_notes/,
    call: (c) => runNotesRepo(c).of(ids(64).map((id) => ({ task_id: id, epoch: 1 }))),
  },
  {
    name: "retention: delete runs",
    index: /runs_pkey|rowid/,
    rows: ids(1_000).map((id) => [id, id, 1, 1]),
    nth: 4,
    call: (c) => retentionRepo(c).expireRuns({ after: 5, finished_before: NOW, limit: 1_000 }),
  },
  {
    name: "retention: the first run too many",
    index: "runs_workload_idx",
    call: (c) => retentionRepo(c).firstBeyond(3, 1_000),
  },
  {
    name: "retention: runs too many",
    index: "runs_workload_idx",
    call: (c) =>
      retentionRepo(c).trimRuns({ workload_id: 3, after: 5, upto: 90_000, limit: 1_000 }),
  },
  {
    name: "purge: tasks of a deleted workload",
    index: "tasks_pk_idx",
    call: (c) => retentionRepo(c).purgeTasks(3, "k5", 1_000),
  },
  {
    name: "purge: delete tasks",
    index: /tasks_pkey|rowid/,
    rows: ids(1_000).map((id) => [id, `k${id}`]),
    nth: 1,
    call: (c) => retentionRepo(c).purgeTasks(3, "k5", 1_000),
  },
  {
    name: "purge: keys that were taken once",
    index: /once_keys/,
    call: (c) => retentionRepo(c).purgeKeys(3, "k5", 1_000),
  },
  {
    name: "prune: the oldest minute",
    index: /rate_minutes/,
    call: (c) => retentionRepo(c).pruneMinutes(NOW),
  },
  {
    name: "rates of an hour",
    index: /rate_minutes/,
    call: (c) => flowRepo(c).rates({ since: NOW - 3_600_000, workload_id: 3 }),
  },
];

export async function repoCases(dialect: Conn["dialect"]): Promise<Case[]> {
  return Promise.all(
    REPO_CASES.map(async ({ name, index, call, rows, nth = 0 }) => {
      const recorded = await recordStatements(dialect, call, rows);
      return { name, index, ...(recorded[nth] as Recorded) };
    }),
  );
}

/** A value for each hole of a statement by the type it is cast to: a hundred attempts, the workload 3, the key k5. */
function valuesFor(sql: string): unknown[] {
  const types = new Map<number, string>();
  for (const [, n, type = ""] of sql.matchAll(/\$(\d+)::((?:\w+(?:\[\])?)(?:::\w+(?:\[\])?)*)/g))
    if (!types.has(Number(n))) types.set(Number(n), type);
  return Array.from({ length: types.size }, (_, i) => {
    const type = types.get(i + 1) ?? "";
    if (/\b(bigint|int)\[\]$/.test(type)) return listOf(i === 0 ? ids(100) : repeat(100, 1));
    if (type.endsWith("text[]")) return listOf(repeat(100, "w"));
    if (type.endsWith("bool[]")) return listOf(repeat(100, "f"));
    if (type.endsWith("int")) return 3;
    return "k5";
  });
}

const CLAIM_VALUES = [3, 100, "{w,v}", "{w,v}", "{0,50}", "{50,100}", 60_000, null, null];
export const QUEUE_CASES: Case[] = (
  [
    ["claim", /^(?=.*tasks_ready_idx)(?=.*tasks_pkey)/, SQL.CLAIM, CLAIM_VALUES],
    ["complete", "tasks_pkey", SQL.COMPLETE],
    ["held", "tasks_pkey", SQL.HELD],
    ["fail and expire: give back", "tasks_pkey", SQL.GIVE_BACK],
    ["release", "tasks_pkey", SQL.RELEASE],
    ["renew", "tasks_pkey", SQL.RENEW],
    ["report again", "runs_attempt_idx", SQL.RUNS_OF],
    ["expire", "tasks_lease_idx", SQL.EXPIRED],
    ["promote", /^(?=.*tasks_due_idx)(?=.*tasks_pkey)/, SQL.PROMOTE],
    ["cancel", "tasks_pk_idx", SQL.CANCEL],
    ["change many: retry", "tasks_pkey", BULK.RETRY_FOUND],
    ["change many: remove", "tasks_pkey", BULK.REMOVE_FOUND],
    ["change many: move", /^(?=.*tasks_pkey)(?=.*tasks_pk_idx)/, BULK.MOVE_FOUND],
    ["change many: look again", "tasks_pkey", BULK.STILL_FOUND],
    ["reset-failed", /^(?=.*tasks_failed_idx)(?=.*tasks_pkey)/, SQL.RESET_FAILED],
    ["peek at failed", "tasks_failed_idx", SQL.PEEK_FAILED, [3, 50, 0, 9]],
    ["peek at all", /tasks_/, SQL.PEEK, [3, "{0,1,2,3}", 50, 0, 9]],
  ] as [string, string | RegExp, string, unknown[]?][]
).map(([name, index, sql, params = valuesFor(sql)]) => ({ name, index, sql, params }));

/** Ten workloads; half of the tasks ready, a tenth claimed, a fifth failed, a fifth delayed; as many runs, one in 50 failed. */
export const fill = (rows: number) => `
insert into workloads (slug, name, description, enabled, supervisor_enabled, executor_type, executor_config, priority,
    batch_size, lease_secs, max_attempts, host_affinity, backoff, emits, schedule_tz, created_at, updated_at)
  select 'w' || g, 'w', '', true, false, 'command', '{}', 0, 1, 60, 3, '[]', '{}', '[]', 'UTC', 0, 0
  from generate_series(1, 10) g;
insert into tasks (workload_id, state, priority, max_attempts, epoch, worker, worker_id, claimed_at, lease_until, run_at, pk,
    created_at, fingerprint)
  select 1 + g % 10, s, 0, 3, case s when 1 then 1 else 0 end, case s when 1 then 'w' end, case s when 1 then 'w' end,
    case s when 1 then ${NOW} end, case s when 1 then ${NOW} + g end, ${NOW} + g, 'k' || g, ${NOW},
    case when s > 1 then 'k' || g % 9 end
  from (select g, (array[0,0,0,0,0,1,2,2,3,3])[1 + (g / 10) % 10] as s from generate_series(1, ${rows}) g) x;
insert into runs (workload_id, task_id, pk, attempt, epoch, outcome, worker_id, started_at, finished_at, duration_ms,
    fingerprint)
  select 1 + g % 10, g, 'k' || g, 1, 1, case when g % 50 = 0 then 1 else 0 end, 'w', ${NOW} + g, ${NOW} + g, 1,
    case when g % 50 = 0 then 'k' || (g / 50) % 9 end
  from generate_series(1, ${rows}) g;
insert into run_logs select g, repeat('x', 300), '' from generate_series(1, ${rows}) g;
insert into run_notes select g, 1, 0.5, 'halfway', to_json(array[repeat('x', 300)])::jsonb, 0, 1, ${NOW} + g from generate_series(1, ${rows}) g;
insert into once_keys select g % 10, 'k' || g from generate_series(1, ${rows}) g;
insert into rate_minutes select ${NOW} - (g / 10) * 60000, 1 + g % 10, 'claimed', 'n', 1 from generate_series(1, ${rows / 4}) g;`;
