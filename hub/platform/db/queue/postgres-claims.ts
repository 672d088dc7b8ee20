import {
  forgottenAt,
  isAhead,
  isLimited,
  limitAfter,
  type Places,
  perMs,
  pieceOf,
  roomOf,
} from "./limits.ts";
import * as SQL from "./postgres-statements.ts";
import { list, type Tx } from "./postgres-tx.ts";
import type { Claim, ClaimedTask, ClaimOp, QueueOp } from "./queue-store.ts";

/** A claim, and the place of its result. */
interface Asked {
  op: ClaimOp;
  i: number;
}
type ClaimedRow = Omit<ClaimedTask, "workload_id"> & { o: number };

function byWorkload(ops: readonly QueueOp[]): Asked[][] {
  const groups = new Map<number, Asked[]>();
  for (const [i, op] of ops.entries()) {
    if (op.op !== "claim") continue;
    const group = groups.get(op.workload_id) ?? [];
    group.push({ op, i });
    groups.set(op.workload_id, group);
  }
  // In the order of their ids, so two control processes wait for each other's limits in one order.
  return [...groups].sort(([a], [b]) => a - b).map(([, group]) => group);
}

/** By workload that has limits: the state that these are checked against. */
export type PlacesOf = ReadonlyMap<number, Places>;
export const NO_LIMITS: PlacesOf = new Map();

/**
 * Reads them, and makes other control processes wait for this transaction's end. They leave out the transaction's own
 * changes, so they can be read together with what precedes the claims.
 */
export async function readPlaces(tx: Tx, ops: readonly QueueOp[]): Promise<PlacesOf> {
  const limited = byWorkload(ops)
    .map(([first]) => (first as Asked).op)
    .filter(isLimited);
  const places = await Promise.all(limited.map((op) => placesOf(tx, op)));
  return new Map(limited.map(({ workload_id }, i) => [workload_id, places[i] as Places]));
}

/** One statement serves every worker that claims from a workload in this turn. */
export async function claimAll(
  tx: Tx,
  ops: readonly QueueOp[],
  results: unknown[],
  before: PlacesOf,
): Promise<void> {
  for (const group of byWorkload(ops)) {
    const { op } = group[0] as Asked;
    const places = withChanges(tx, op, before);
    const rows = await claim(tx, group, places);
    const limit = places && limitAfter(op, places, rows.length);
    for (const [k, { i }] of group.entries())
      results[i] = { tasks: tasksOf(rows, k + 1, op.workload_id), limit } satisfies Claim;
    tx.deltas.move(op.workload_id, "ready", "claimed", rows.length);
    tx.deltas.count(op.workload_id, "claimed", rows.length);
    if (places) await countRate(tx, op, places, rows.length);
  }
}

const tasksOf = (rows: readonly ClaimedRow[], o: number, workload_id: number): ClaimedTask[] =>
  rows
    .filter((row) => row.o === o)
    .sort((a, b) => b.priority - a.priority || a.task_id - b.task_id)
    .map(({ o: _o, ...row }) => ({ ...row, workload_id }));

async function claim(tx: Tx, group: Asked[], places: Places | null): Promise<ClaimedRow[]> {
  const { op } = group[0] as Asked;
  let room = places ? roomOf(op, places) : Number.MAX_SAFE_INTEGER;
  let end = 0;
  const after: number[] = [];
  const upto: number[] = [];
  for (const { op: asked } of group) {
    const n = Math.min(asked.max, room);
    room -= n;
    after.push(end);
    end += n;
    upto.push(end);
  }
  if (end === 0) return [];
  return tx.q<ClaimedRow>(SQL.CLAIM, [
    op.workload_id,
    end,
    list(group.map((g) => g.op.worker)),
    list(group.map((g) => g.op.worker_id)),
    list(after),
    list(upto),
    op.lease_ms,
    op.timeout_ms,
    op.rate_limit && places ? places.now : null,
  ]);
}

async function placesOf(tx: Tx, { workload_id, rate_limit }: ClaimOp): Promise<Places> {
  const read = () => tx.q<Places>(SQL.PLACES, [workload_id, rate_limit ? perMs(rate_limit) : 0]);
  const [, [places]] = await Promise.all([tx.q(SQL.LOCK_ROOM, [workload_id]), read()]);
  const ahead = rate_limit && places && isAhead(rate_limit, places);
  if (!ahead) return places as Places;
  await tx.q(SQL.BACK_TO_CLOCK, [workload_id, pieceOf(rate_limit, places.now)]);
  return (await read())[0] as Places;
}

function withChanges(tx: Tx, { workload_id }: ClaimOp, before: PlacesOf): Places | null {
  const places = before.get(workload_id);
  if (!places) return null;
  const here = tx.deltas.of(workload_id).counters.claimed;
  return { ...places, claimed: places.claimed + here };
}

async function countRate(tx: Tx, op: ClaimOp, { now }: Places, n: number): Promise<void> {
  const { workload_id, rate_limit } = op;
  if (!rate_limit || n === 0) return;
  await Promise.all([
    tx.q(SQL.USE_RATE, [workload_id, pieceOf(rate_limit, now), n]),
    tx.q(SQL.FORGET_RATE, [workload_id, forgottenAt(rate_limit, now)]),
  ]);
}
