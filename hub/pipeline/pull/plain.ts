import type { z } from "zod";
import { isObject } from "#shared/kit/is-object.ts";
import { MAX_BATCH_ITEMS } from "#shared/protocol/limits.ts";
import {
  type Exchange,
  MAX_CLAIM_WAIT_MS,
  MAX_SLOTS,
  MAX_STREAM_BYTES,
} from "#shared/protocol/schema/pull.ts";
import { MAX_PK_LENGTH, type TaskBatch } from "#shared/protocol/schema/queue.ts";

/**
 * Bodies of the hot calls, parsed by hand: the result is what the schema would return, and null leaves the body to the
 * schema (test/unit/plain-bodies.test.ts keeps the two in step).
 */

const isWhole = (value: unknown, least: number, most = Number.MAX_SAFE_INTEGER): value is number =>
  Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
const isText = (value: unknown, least: number, most: number): value is string =>
  typeof value === "string" && value.length >= least && value.length <= most;

/** POST …/tasks/batch with keys and extras only. */
export function plainBatch(body: unknown): z.infer<typeof TaskBatch> | null {
  if (!isObject(body)) return null;
  for (const key in body) if (key !== "items") return null;
  const { items } = body;
  if (!Array.isArray(items) || items.length > MAX_BATCH_ITEMS) return null;
  for (const item of items) if (!isPlainTask(item)) return null;
  return { items };
}

function isPlainTask(item: unknown): boolean {
  if (!isObject(item)) return false;
  for (const key in item) if (key !== "pk" && key !== "extra") return false;
  const { pk, extra } = item;
  if (!isText(pk, 1, MAX_PK_LENGTH) || pk.includes("\u0000") || !pk.isWellFormed()) return false;
  return extra === undefined || extra === null || isObject(extra);
}

const WANT = new Set(["slots", "wait_ms", "known", "exclude"]);
const EXCHANGE = new Set(["incarnation", "done", "failed", "released", "want"]);
/** What `plainDone` reads; a report that has more is left to the schema. */
const DONE_KEYS = ["task_id", "epoch", "duration_ms", "stdout", "stderr", "truncated", "output"];
const DONE = new Set(DONE_KEYS);

/** POST …/exchange of a worker that reports successes: failures and refunds are rare enough for the schema. */
export function plainExchange(body: unknown): Exchange | null {
  if (!isObject(body)) return null;
  for (const key in body) if (!EXCHANGE.has(key)) return null;
  const { incarnation, done = [], failed = [], released = [] } = body;
  if (!isText(incarnation, 8, 64)) return null;
  if (!Array.isArray(done) || done.length > 10_000) return null;
  for (const list of [failed, released]) if (!Array.isArray(list) || list.length > 0) return null;
  const want = plainWant(body.want ?? { slots: 0 });
  if (want === null || body.want === null) return null;
  const items: Exchange["done"] = [];
  for (const item of done) {
    const plain = plainDone(item);
    if (plain === null) return null;
    items.push(plain);
  }
  return { incarnation, done: items, failed: [], released: [], want };
}

function plainWant(want: unknown): Exchange["want"] | null {
  if (!isObject(want)) return null;
  for (const key in want) if (!WANT.has(key)) return null;
  const { slots, wait_ms = 0, known = {}, exclude = [] } = want;
  if (!isWhole(slots, 0, MAX_SLOTS) || !isWhole(wait_ms, 0, MAX_CLAIM_WAIT_MS)) return null;
  if (!isObject(known) || !Array.isArray(exclude) || exclude.length > 0) return null;
  for (const slug in known)
    if (slug.length > 64 || slug === "__proto__" || !isText(known[slug], 0, 64)) return null;
  return { slots, wait_ms, known: known as Record<string, string>, exclude: [] };
}

function plainDone(item: unknown): Exchange["done"][number] | null {
  if (!isObject(item)) return null;
  for (const key in item) if (!DONE.has(key)) return null;
  const { task_id, epoch, duration_ms, stdout = "", stderr = "", truncated = false, output } = item;
  const most = MAX_STREAM_BYTES + 1_000;
  if (!isWhole(task_id, 1) || !isWhole(epoch, 1) || !isWhole(duration_ms, 0)) return null;
  if (!isText(stdout, 0, most) || !isText(stderr, 0, most) || typeof truncated !== "boolean")
    return null;
  return { task_id, epoch, duration_ms, stdout, stderr, truncated, output };
}
