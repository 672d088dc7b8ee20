import type Client from "better-sqlite3";
import { emitMetric } from "#drizzle/tables/counters.ts";
import { TASK_STATE } from "#drizzle/tables/tasks.ts";
import type { Backoff } from "#shared/protocol/schema/workload.ts";
import type { QueueOptions } from "../conn.ts";
import { Deltas } from "./deltas.ts";
import {
  forgottenAt,
  isAhead,
  isLimited,
  limitAfter,
  type Places,
  pieceOf,
  roomOf,
} from "./limits.ts";
import {
  afterExpiry,
  afterFailure,
  afterRelease,
  counterOf,
  onlyFailed,
  outcomeCode,
  SUCCESS,
  type Verdict,
} from "./outcome.ts";
import type {
  AttemptRef,
  CancelledTask,
  Claim,
  ClaimedTask,
  ClaimOp,
  DoneTask,
  ExpiredTask,
  FailedTask,
  NewTask,
  OpResults,
  QueueOp,
  QueueStore,
  ReleasedTask,
  Report,
} from "./queue-store.ts";
import { changeTasks } from "./sqlite-bulk.ts";
import { prepareStatements } from "./sqlite-statements.ts";
import { type Tx, writeRun } from "./sqlite-tx.ts";

export interface SqliteQueueOptions {
  client: Client.Database;
  /** Names this process in the counters. */
  node: string;
  /** Epoch ms. It must not follow jumps of the wall clock: leases would end by them. */
  now: () => number;
  /** In [0, 1): spreads retries. */
  random: () => number;
  onFreed?: QueueOptions["onFreed"];
}

/** Reports first: the slots they free are filled by the claims of the same turn. */
const ORDER: Record<QueueOp["op"], number> = {
  complete: 0,
  fail: 1,
  release: 2,
  submit: 3,
  renew: 4,
  claim: 5,
};
const inFlushOrder = (ops: readonly QueueOp[]): number[] =>
  ops
    .map((_, i) => i)
    .sort((a, b) => ORDER[(ops[a] as QueueOp).op] - ORDER[(ops[b] as QueueOp).op]);

/** The queue in a SQLite file: one writer, so a transaction decides every race by itself. */
export function openSqliteQueue(options: SqliteQueueOptions): QueueStore {
  const { client, node, now, random, onFreed } = options;
  const s = prepareStatements(client);
  const transaction = client.transaction((work: () => unknown) => work());
  const inTransaction = <T>(work: (tx: Tx) => T): T => {
    const deltas = new Deltas();
    const result = transaction.immediate(() => {
      const tx: Tx = { now: now(), s, random, deltas };
      const result = work(tx);
      writeDeltas(tx, node);
      return result;
    }) as T;
    if (onFreed) for (const freed of deltas.freed()) onFreed(freed);
    return result;
  };

  return {
    flush: async (ops) =>
      inTransaction((tx) => {
        const results: OpResults[QueueOp["op"]][] = new Array(ops.length);
        for (const i of inFlushOrder(ops)) results[i] = run(tx, ops[i] as QueueOp);
        return results;
      }),
    // Mostly there is none: a transaction each time was a quarter of what the scripts of an idle hub did.
    expire: async (limit) =>
      s.expired.get(now(), 1) === undefined ? [] : inTransaction((tx) => expire(tx, limit)),
    promote: async (limit) =>
      s.due.get(now()) === undefined ? new Map() : inTransaction((tx) => promote(tx, limit)),
    cancel: async (workload_id, pk) => inTransaction((tx) => cancel(tx, workload_id, pk)),
    change: async (change, tasks) => inTransaction((tx) => changeTasks(tx, change, tasks)),
    resetFailed: async (workload_id, limit, pk) =>
      inTransaction((tx) => {
        const { changes } =
          pk === undefined
            ? s.resetFailed.run(tx.now, workload_id, limit)
            : s.resetOne.run(tx.now, workload_id, pk);
        tx.deltas.move(workload_id, "failed", "ready", changes);
        return changes;
      }),
    peek: async (workload_id, states, limit, offset, after = 0) =>
      onlyFailed(states)
        ? s.peekFailed.all(workload_id, after, limit, offset)
        : s.peek.all(workload_id, JSON.stringify(states), after, limit, offset),
    counts: async (workload_id) => s.counts.all({ workload_id: workload_id ?? null }),
    now: async () => now(),
    close: async () => {},
  };
}

function run(tx: Tx, op: QueueOp): OpResults[QueueOp["op"]] {
  switch (op.op) {
    case "submit":
      return submit(tx, op.workload_id, op.tasks, "submitted");
    case "complete":
      return op.items.map((item) => complete(tx, op.worker, item));
    case "fail":
      return op.items.map((item) => fail(tx, op.worker, op.backoff, item));
    case "release":
      return op.items.map((item) => release(tx, op.worker, item));
    case "renew":
      return op.items.filter((item) => !renew(tx, op.worker, item, op.lease_ms));
    case "claim":
      return claim(tx, op);
  }
}

function submit(
  tx: Tx,
  workload_id: number,
  tasks: readonly NewTask[],
  metric: "submitted" | "emitted",
): OpResults["submit"] {
  let ready = 0;
  let delayed = 0;
  for (const task of tasks) {
    if (task.once && tx.s.once.run(workload_id, task.pk).changes === 0) continue;
    const later = task.run_at !== null && task.run_at > tx.now;
    const { changes, lastInsertRowid } = tx.s.submit.run(
      workload_id,
      later ? TASK_STATE.delayed : TASK_STATE.ready,
      task.priority,
      task.max_attempts,
      task.follows_workload ? 1 : 0,
      task.run_at ?? tx.now,
      task.pk,
      task.extra,
      tx.now,
    );
    if (later) delayed += changes;
    else ready += changes;
    if (task.labels && changes > 0)
      for (const [key, value] of Object.entries(task.labels))
        tx.s.label.run(lastInsertRowid, key, value);
  }
  tx.deltas.move(workload_id, null, "ready", ready);
  tx.deltas.move(workload_id, null, "delayed", delayed);
  tx.deltas.count(workload_id, metric, ready + delayed);
  const submitted = ready + delayed;
  return { submitted, duplicates: tasks.length - submitted };
}

const UNLIMITED: Places = {
  now: 0,
  claimed: 0,
  used: 0,
  oldest_at: null,
  oldest_used: 0,
  newest_at: null,
};

/** The state that the workload's limits are checked against. */
function placesOf(tx: Tx, op: ClaimOp): Places {
  const { workload_id, rate_limit } = op;
  const claimed =
    op.max_in_flight === null
      ? 0
      : (tx.s.claimed.get(workload_id)?.n ?? 0) + tx.deltas.of(workload_id).counters.claimed;
  if (rate_limit === null) return { ...UNLIMITED, now: tx.now, claimed };
  const read = () => ({
    ...UNLIMITED,
    ...tx.s.rateClaims.get({ id: workload_id, after: forgottenAt(rate_limit, tx.now) }),
    now: tx.now,
    claimed,
  });
  const places = read();
  if (!isAhead(rate_limit, places)) return places;
  const now = pieceOf(rate_limit, tx.now);
  for (const { used } of tx.s.aheadOfClock.all(workload_id, now))
    tx.s.useRate.run(workload_id, now, used);
  return read();
}

function countRate(tx: Tx, { workload_id, rate_limit }: ClaimOp, n: number): void {
  if (!rate_limit || n === 0) return;
  tx.s.useRate.run(workload_id, pieceOf(rate_limit, tx.now), n);
  tx.s.forgetRate.run(workload_id, forgottenAt(rate_limit, tx.now));
}

function claim(tx: Tx, op: ClaimOp): Claim {
  if (!isLimited(op)) return { tasks: take(tx, op, op.max), limit: null };
  const places = placesOf(tx, op);
  const room = Math.min(op.max, roomOf(op, places));
  const tasks = room === 0 ? [] : take(tx, op, room);
  countRate(tx, op, tasks.length);
  return { tasks, limit: limitAfter(op, places, tasks.length) };
}

function take(tx: Tx, op: ClaimOp, most: number): ClaimedTask[] {
  const deadline = op.timeout_ms === null ? null : tx.now + op.timeout_ms;
  const lease_until = Math.min(tx.now + op.lease_ms, deadline ?? Number.POSITIVE_INFINITY);
  const { worker, worker_id, workload_id } = op;
  const rows = tx.s.ready.all(workload_id, most);
  for (const { task_id } of rows)
    tx.s.take.run(worker, worker_id, tx.now, deadline, lease_until, task_id);
  tx.deltas.move(workload_id, "ready", "claimed", rows.length);
  tx.deltas.count(workload_id, "claimed", rows.length);
  return rows.map((row) => ({ ...row, workload_id, claimed_at: tx.now }));
}

/** The answer to a report whose attempt is over: the same as before when it is the same report. */
function answerAgain(tx: Tx, ref: AttemptRef, success: boolean): Report {
  const { task_id, epoch } = ref;
  const row = tx.s.runOf.get(task_id, epoch);
  const same = row && row.worker_reported === 1 && (row.outcome === SUCCESS) === success;
  return { task_id, epoch, status: same ? "ok" : "stale", run_id: same ? row.run_id : null };
}

function complete(tx: Tx, worker: string, item: DoneTask): Report {
  const { task_id, epoch } = item;
  const task = tx.s.complete.get(task_id, epoch, worker);
  if (!task) return answerAgain(tx, item, true);
  const run_id = writeRun(tx, item, task, { ...item, outcome: SUCCESS });
  tx.deltas.move(task.workload_id, "claimed", null);
  tx.deltas.count(task.workload_id, "succeeded");
  for (const { workload_id, tasks } of item.emit ?? []) {
    const { submitted } = submit(tx, workload_id, tasks, "emitted");
    tx.deltas.count(task.workload_id, emitMetric(workload_id), submitted);
  }
  return { task_id, epoch, status: "ok", run_id };
}

function fail(tx: Tx, worker: string, backoff: Backoff, item: FailedTask): Report {
  const { task_id, epoch } = item;
  const task = tx.s.held.get(task_id, epoch, worker);
  if (!task) return answerAgain(tx, item, false);
  const verdict = afterFailure(task, item, backoff, tx.random());
  giveBack(tx, item, verdict, item);
  const run_id = writeRun(tx, item, task, { ...item, outcome: outcomeCode(item.outcome) });
  tx.deltas.move(task.workload_id, "claimed", verdict.final ? "failed" : "delayed");
  tx.deltas.count(task.workload_id, "failed");
  return { task_id, epoch, status: "ok", run_id };
}

function giveBack(
  tx: Tx,
  { task_id, epoch }: AttemptRef,
  end: Verdict,
  { error, fingerprint = null }: Pick<FailedTask, "error" | "fingerprint">,
): void {
  tx.s.giveBack.run({
    task_id,
    epoch,
    state: end.final ? TASK_STATE.failed : TASK_STATE.delayed,
    run_at: tx.now + (end.final ? 0 : end.wait),
    crash_count: end.crashes,
    last_error: error,
    fingerprint,
  });
}

function release(tx: Tx, worker: string, item: ReleasedTask): Report {
  const { task_id, epoch } = item;
  const { state, wait, last_error } = afterRelease(item);
  const task = tx.s.release.get(state, tx.now + wait, last_error, task_id, epoch, worker);
  if (!task) return { task_id, epoch, status: "stale", run_id: null };
  tx.deltas.move(task.workload_id, "claimed", counterOf(state));
  return { task_id, epoch, status: "ok", run_id: null };
}

const renew = (tx: Tx, worker: string, item: AttemptRef, lease_ms: number): boolean =>
  tx.s.renew.run(tx.now + lease_ms, item.task_id, item.epoch, worker).changes === 1;

function expire(tx: Tx, limit: number): ExpiredTask[] {
  return tx.s.expired.all(tx.now, limit).map((task) => {
    const { task_id, epoch, workload_id } = task;
    const overdue = task.deadline_at !== null && task.deadline_at <= tx.now;
    const backoff = JSON.parse(task.backoff) as Backoff;
    const end = afterExpiry(task, overdue, backoff, tx.random());
    const { outcome, error, fingerprint } = end;
    giveBack(tx, task, end, end);
    const duration_ms = tx.now - task.claimed_at;
    writeRun(tx, task, task, { outcome, error, fingerprint, duration_ms });
    tx.deltas.move(workload_id, "claimed", end.final ? "failed" : "delayed");
    tx.deltas.count(workload_id, "expired");
    return { task_id, epoch, workload_id, worker: task.worker };
  });
}

function promote(tx: Tx, limit: number): Map<number, number> {
  const promoted = new Map<number, number>();
  for (const { workload_id } of tx.s.promote.all(tx.now, limit))
    promoted.set(workload_id, (promoted.get(workload_id) ?? 0) + 1);
  for (const [workload_id, n] of promoted) tx.deltas.move(workload_id, "delayed", "ready", n);
  return promoted;
}

function cancel(tx: Tx, workload_id: number, pk: string): CancelledTask | null {
  const task = tx.s.cancel.get(workload_id, pk);
  if (!task) return null;
  tx.deltas.move(workload_id, counterOf(task.state), null);
  if (task.state === TASK_STATE.claimed && task.claimed_at !== null)
    writeRun(
      tx,
      task,
      { ...task, claimed_at: task.claimed_at },
      {
        outcome: outcomeCode("cancelled"),
        duration_ms: tx.now - task.claimed_at,
        error: "cancelled",
      },
    );
  const { state, task_id, epoch, worker } = task;
  return { state, task_id, epoch, worker };
}

function writeDeltas({ s, now, deltas }: Tx, node: string): void {
  const minute = now - (now % 60_000);
  for (const { workload_id, counters, bits, runs, metrics } of deltas.all()) {
    s.addStats.run({ workload_id, node, ...counters, bits, runs, now });
    for (const [metric, n] of metrics) s.addRate.run(minute, workload_id, metric, node, n);
  }
}
