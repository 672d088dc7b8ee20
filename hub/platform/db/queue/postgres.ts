import { emitMetric } from "#drizzle/tables/counters.ts";
import { TASK_STATE } from "#drizzle/tables/tasks.ts";
import type { Backoff } from "#shared/protocol/schema/workload.ts";
import type { QueueOptions } from "../conn.ts";
import type { WatchedClient } from "../watched-client.ts";
import { Deltas } from "./deltas.ts";
import { isLimited } from "./limits.ts";
import {
  afterExpiry,
  afterFailure,
  afterRelease,
  counterOf,
  onlyFailed,
  outcomeCode,
  REPORTED,
  SUCCESS,
  type Verdict,
} from "./outcome.ts";
import { changeTasks } from "./postgres-bulk.ts";
import { claimAll, NO_LIMITS, readPlaces } from "./postgres-claims.ts";
import { cancel, promote } from "./postgres-one-by-one.ts";
import * as SQL from "./postgres-statements.ts";
import { freeNames, list, querier, reportedLists, type Tx, writeDeltas } from "./postgres-tx.ts";
import type {
  AttemptRef,
  DoneTask,
  ExpiredTask,
  FailedTask,
  NewTask,
  OpResults,
  QueueCounts,
  QueueOp,
  QueueRow,
  QueueStore,
  ReleasedTask,
  Report,
} from "./queue-store.ts";
import { rareLists } from "./rare-lists.ts";
import type { FailureColumns } from "./run-columns.ts";

export interface PostgresQueueOptions {
  /** A separate pool, whose statements never wait behind a page of the dashboard. int8 must be parsed to numbers. */
  client: Pick<WatchedClient, "use">;
  /** Names this process in the counters. */
  node: string;
  /** In [0, 1): spreads retries. */
  random: () => number;
  onFreed?: QueueOptions["onFreed"];
}

const opsOf = <K extends QueueOp["op"]>(ops: readonly QueueOp[], kind: K) =>
  ops
    .map((op, i) => ({ op, i }))
    .filter(
      (entry): entry is { op: Extract<QueueOp, { op: K }>; i: number } => entry.op.op === kind,
    );

/** The queue in Postgres: many control processes may flush at once; rows are locked in id order or skipped. */
export function openPostgresQueue(options: PostgresQueueOptions): QueueStore {
  const { client, node, random, onFreed } = options;
  const lanes = freeNames(node);
  const inTransaction = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
    // If two transactions of this process shared a row, they would wait for each other's counters.
    const lane = lanes.take();
    const deltas = new Deltas();
    try {
      const done = await client.use(
        async (sql) =>
          (await sql.begin(async (transaction) => {
            const tx: Tx = { q: querier(transaction), random, deltas };
            const result = await work(tx);
            await writeDeltas(tx, lane);
            return result;
          })) as T,
      );
      if (onFreed) for (const freed of deltas.freed()) onFreed(freed);
      return done;
    } finally {
      lanes.give(lane);
    }
  };
  const read = <R>(...query: Parameters<Tx["q"]>) => client.use((sql) => querier(sql)<R>(...query));
  return {
    flush: (ops) => inTransaction((tx) => flush(tx, ops)),
    expire: (limit) => inTransaction((tx) => expire(tx, limit)),
    promote: (limit) => inTransaction((tx) => promote(tx, limit)),
    cancel: (workload_id, pk) => inTransaction((tx) => cancel(tx, workload_id, pk)),
    change: (change, tasks) => changeTasks(inTransaction, change, tasks),
    resetFailed: (workload_id, limit, pk) =>
      inTransaction(async (tx) => {
        const rows =
          pk === undefined
            ? await tx.q(SQL.RESET_FAILED, [workload_id, limit])
            : await tx.q(SQL.RESET_ONE, [workload_id, pk]);
        tx.deltas.move(workload_id, "failed", "ready", rows.length);
        return rows.length;
      }),
    peek: (workload_id, states, limit, offset, after = 0) =>
      onlyFailed(states)
        ? read<QueueRow>(SQL.PEEK_FAILED, [workload_id, limit, offset, after])
        : read<QueueRow>(SQL.PEEK, [workload_id, list(states), limit, offset, after]),
    counts: (workload_id) => read<QueueCounts>(SQL.COUNTS, [workload_id ?? null]),
    now: async () => (await read<{ now: number }>("select flotilla_now() as now"))[0]?.now ?? 0,
    close: async () => {},
  };
}

/** Nearly every turn is this: successes and claims, which do not depend on each other. */
const isExchange = (ops: readonly QueueOp[]): boolean =>
  ops.every((op) => op.op === "complete" || (op.op === "claim" && !isLimited(op)));

async function flush(tx: Tx, ops: QueueOp[]): Promise<OpResults[QueueOp["op"]][]> {
  const results: OpResults[QueueOp["op"]][] = new Array(ops.length);
  if (isExchange(ops)) {
    // Sent together and run in this order: one round trip.
    await Promise.all([completeAll(tx, ops, results), claimAll(tx, ops, results, NO_LIMITS)]);
    return results;
  }
  // Sent together too: of the limits only what was committed is read.
  const [, places] = await Promise.all([completeAll(tx, ops, results), readPlaces(tx, ops)]);
  await failAll(tx, ops, results);
  for (const { op, i } of opsOf(ops, "release"))
    results[i] = await release(tx, op.worker, op.items);
  for (const { op, i } of opsOf(ops, "submit"))
    results[i] = await submit(tx, op.workload_id, op.tasks, "submitted");
  for (const { op, i } of opsOf(ops, "renew"))
    results[i] = await renew(tx, op.worker, op.items, op.lease_ms);
  await claimAll(tx, ops, results, places);
  return results;
}

async function submit(
  tx: Tx,
  workload_id: number,
  tasks: readonly NewTask[],
  metric: "submitted" | "emitted",
): Promise<OpResults["submit"]> {
  const rare = rareLists(tasks);
  const statement = rare.length > 0 ? SQL.SUBMIT_RARE : SQL.SUBMIT;
  const [row] = await tx.q<{ ready: number; delayed: number }>(statement, [
    workload_id,
    list(tasks.map((t) => t.pk)),
    list(tasks.map((t) => t.extra)),
    list(tasks.map((t) => t.priority)),
    list(tasks.map((t) => t.max_attempts)),
    list(tasks.map((t) => t.run_at)),
    list(tasks.map((t) => t.follows_workload ?? false)),
    ...rare,
  ]);
  const { ready, delayed } = row ?? { ready: 0, delayed: 0 };
  tx.deltas.move(workload_id, null, "ready", ready);
  tx.deltas.move(workload_id, null, "delayed", delayed);
  tx.deltas.count(workload_id, metric, ready + delayed);
  return { submitted: ready + delayed, duplicates: tasks.length - ready - delayed };
}

interface Done {
  task_id: number;
  epoch: number;
  run_id: number;
  workload_id: number;
  /** Which worker reported it; the answer to another's report depends on which came first. */
  worker?: string;
}
const keyOf = ({ task_id, epoch }: AttemptRef) => `${task_id}:${epoch}`;

async function completeAll(tx: Tx, ops: QueueOp[], results: unknown[]): Promise<void> {
  const calls = opsOf(ops, "complete");
  const items = calls.flatMap(({ op }) => op.items.map((item) => ({ ...item, worker: op.worker })));
  if (items.length === 0) {
    for (const { i } of calls) results[i] = [];
    return;
  }
  // When two workers report one attempt in one turn, only the database knows whose it is.
  const reporter = new Map(items.map((item) => [keyOf(item), item.worker]));
  const contested = items.some((item) => reporter.get(keyOf(item)) !== item.worker);
  const told = await tx.q<Done & { run_id: number | null }>(SQL.COMPLETE, [
    list(items.map((x) => x.task_id)),
    list(items.map((x) => x.epoch)),
    list(items.map((x) => x.worker)),
    list(items.map((x) => x.duration_ms)),
    contested ? 1 : 0,
    ...reportedLists("success", items),
  ]);
  const rows = told.filter((row) => row.run_id !== null);
  const done = new Map(rows.map((row) => [keyOf(row), row]));
  for (const { task_id, epoch, worker } of contested ? told.filter((row) => row.worker) : items) {
    const run = done.get(keyOf({ task_id, epoch }));
    if (run && worker) run.worker = worker;
  }
  const own = items.filter((item) => done.get(keyOf(item))?.worker === item.worker);
  for (const row of rows) {
    tx.deltas.ran(row.workload_id, true);
    tx.deltas.move(row.workload_id, "claimed", null);
    tx.deltas.count(row.workload_id, "succeeded");
  }
  await writeLogs(tx, own, done);
  // As if they had come one after the other: another worker's report is stale until the owner's was recorded.
  const recorded = new Map<string, Done>();
  for (const { op, i } of calls) {
    for (const item of op.items) {
      const row = done.get(keyOf(item));
      if (row?.worker === op.worker) recorded.set(keyOf(item), row);
    }
    const later = new Set([...done.keys()].filter((key) => !recorded.has(key)));
    results[i] = await answer(tx, op.items, recorded, true, later);
  }
  const emitted = new Set<string>();
  for (const item of own) {
    // The same report twice in one turn is one attempt.
    if (!item.emit || emitted.has(keyOf(item))) continue;
    emitted.add(keyOf(item));
    for (const { workload_id, tasks } of item.emit) {
      const { submitted } = await submit(tx, workload_id, tasks, "emitted");
      const from = done.get(keyOf(item))?.workload_id;
      if (from !== undefined) tx.deltas.count(from, emitMetric(workload_id), submitted);
    }
  }
}

async function writeLogs(
  tx: Tx,
  items: readonly (DoneTask | FailedTask)[],
  done: ReadonlyMap<string, Done>,
): Promise<void> {
  const printed = new Map<number, DoneTask | FailedTask>();
  for (const item of items) {
    const run = done.get(keyOf(item));
    if (run && (item.stdout !== "" || item.stderr !== "")) printed.set(run.run_id, item);
  }
  if (printed.size === 0) return;
  const logs = [...printed.values()];
  await tx.q(SQL.INSERT_LOGS, [
    list([...printed.keys()]),
    list(logs.map((x) => x.stdout)),
    list(logs.map((x) => x.stderr)),
  ]);
}

/** A report of an attempt that is over already is answered as the first time when it is the same report. */
async function answer(
  tx: Tx,
  items: readonly AttemptRef[],
  done: ReadonlyMap<string, Done>,
  success: boolean,
  /** Recorded in this transaction, but by a later call. */
  later: ReadonlySet<string> = new Set(),
): Promise<Report[]> {
  const missed = items.filter((item) => !done.has(keyOf(item)) && !later.has(keyOf(item)));
  const before = new Map<string, { run_id: number; outcome: number }>();
  if (missed.length > 0) {
    const rows = await tx.q<AttemptRef & { run_id: number; outcome: number }>(SQL.RUNS_OF, [
      list(missed.map((x) => x.task_id)),
      list(missed.map((x) => x.epoch)),
    ]);
    for (const row of rows)
      if (REPORTED.includes(row.outcome) && (row.outcome === SUCCESS) === success)
        before.set(keyOf(row), row);
  }
  return items.map((item) => {
    const run = done.get(keyOf(item)) ?? before.get(keyOf(item));
    const { task_id, epoch } = item;
    return { task_id, epoch, status: run ? "ok" : "stale", run_id: run?.run_id ?? null };
  });
}

interface Held extends AttemptRef {
  workload_id: number;
  pk: string;
  attempt: number;
  max_attempts: number;
  crash_count: number;
  worker: string;
  worker_id: string | null;
  claimed_at: number;
}

interface Failure extends Verdict {
  task: Held;
  outcome: number;
  duration_ms: number | null;
  report: FailureColumns;
}

async function failAll(tx: Tx, ops: QueueOp[], results: unknown[]): Promise<void> {
  for (const { op, i } of opsOf(ops, "fail")) results[i] = await fail(tx, op);
}

async function fail(tx: Tx, op: Extract<QueueOp, { op: "fail" }>): Promise<Report[]> {
  const unique = [...new Map(op.items.map((item) => [keyOf(item), item])).values()];
  const rows = await tx.q<Held>(SQL.HELD, [
    list(unique.map((x) => x.task_id)),
    list(unique.map((x) => x.epoch)),
    op.worker,
  ]);
  const held = new Map(rows.map((row) => [keyOf(row), row]));
  const failures = unique.flatMap((item): Failure[] => {
    const task = held.get(keyOf(item));
    if (!task) return [];
    const verdict = afterFailure(task, item, op.backoff, tx.random());
    const outcome = outcomeCode(item.outcome);
    const { duration_ms } = item;
    return [{ ...verdict, task, outcome, duration_ms, report: item }];
  });
  const done = await giveBack(tx, failures, "failed");
  await writeLogs(tx, unique, done);
  return answer(tx, op.items, done, false);
}

/** claimed → failed or delayed, with the run of the attempt. */
async function giveBack(
  tx: Tx,
  failures: Failure[],
  metric: "failed" | "expired",
): Promise<Map<string, Done>> {
  if (failures.length === 0) return new Map();
  const rows = await tx.q<Done>(SQL.GIVE_BACK, [
    list(failures.map((f) => f.task.task_id)),
    list(failures.map((f) => f.task.epoch)),
    list(failures.map((f) => (f.final ? TASK_STATE.failed : TASK_STATE.delayed))),
    list(failures.map((f) => (f.final ? 0 : f.wait))),
    list(failures.map((f) => f.crashes)),
    list(failures.map((f) => f.outcome)),
    list(failures.map((f) => f.duration_ms)),
    list(failures.map((f) => f.task.claimed_at)),
    list(failures.map((f) => f.task.worker_id)),
    ...reportedLists(
      "failure",
      failures.map((f) => f.report),
    ),
  ]);
  for (const { task, final } of failures) {
    tx.deltas.ran(task.workload_id, false);
    tx.deltas.move(task.workload_id, "claimed", final ? "failed" : "delayed");
    tx.deltas.count(task.workload_id, metric);
  }
  return new Map(rows.map((row) => [keyOf(row), row]));
}

async function release(tx: Tx, worker: string, items: ReleasedTask[]): Promise<Report[]> {
  const ends = items.map(afterRelease);
  const rows = await tx.q<AttemptRef & { workload_id: number; state: number }>(SQL.RELEASE, [
    list(items.map((x) => x.task_id)),
    list(items.map((x) => x.epoch)),
    worker,
    list(ends.map((x) => x.state)),
    list(ends.map((x) => x.wait)),
    list(ends.map((x) => x.last_error ?? "")),
  ]);
  for (const { workload_id, state } of rows)
    tx.deltas.move(workload_id, "claimed", counterOf(state));
  // Its epoch has moved on by now.
  const released = new Set(rows.map((row) => `${row.task_id}:${row.epoch - 1}`));
  return items.map((item) => {
    const ok = released.delete(keyOf(item));
    const { task_id, epoch } = item;
    return { task_id, epoch, status: ok ? "ok" : "stale", run_id: null };
  });
}

async function renew(
  tx: Tx,
  worker: string,
  items: AttemptRef[],
  lease_ms: number,
): Promise<AttemptRef[]> {
  const rows = await tx.q<AttemptRef>(SQL.RENEW, [
    list(items.map((x) => x.task_id)),
    list(items.map((x) => x.epoch)),
    worker,
    lease_ms,
  ]);
  const renewed = new Set(rows.map(keyOf));
  return items.filter((item) => !renewed.has(keyOf(item)));
}

async function expire(tx: Tx, limit: number): Promise<ExpiredTask[]> {
  const rows = await tx.q<Held & { overdue: boolean; backoff: Backoff }>(SQL.EXPIRED, [limit]);
  const failures = rows.map((task): Failure => {
    const { error, fingerprint, ...verdict } = afterExpiry(
      task,
      task.overdue,
      task.backoff,
      tx.random(),
    );
    return {
      ...verdict,
      task,
      duration_ms: null,
      report: { error, fingerprint, truncated: false },
    };
  });
  await giveBack(tx, failures, "expired");
  return rows.map(({ task_id, epoch, workload_id, worker }) => ({
    task_id,
    epoch,
    workload_id,
    worker,
  }));
}
