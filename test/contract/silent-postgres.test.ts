import { afterAll, beforeAll, expect, test } from "bun:test";
import { toDb } from "#hub/platform/db/db.ts";
import { openPostgres } from "#hub/platform/db/postgres.ts";
import { silentLog } from "#shared/kit/log.ts";
import { type CuttableProxy, startCuttableProxy } from "#test/support/servers/cuttable-proxy.ts";
import { jobRow } from "#test/support/servers/db.ts";
import { startPostgres, type TestPostgres } from "#test/support/servers/postgres.ts";

/**
 * Connections to the database whose other end goes away without a word: nothing may stand still for it
 * (rules/storage#postgres).
 */

/** Longer than a burst of calls takes on a busy machine. */
const DEADLINE_MS = 3_000;
/** More than the repositories have connections. */
const AT_ONCE = 25;

let server: TestPostgres;
let proxy: CuttableProxy;
beforeAll(async () => {
  server = await startPostgres();
  proxy = await startCuttableProxy(Number(new URL(server.url).port));
}, 180_000);
afterAll(async () => {
  await proxy.close();
  await server.stop();
}, 180_000);

async function open() {
  const url = new URL(await server.createDatabase());
  url.port = String(proxy.port);
  return openPostgres(url.href, { log: silentLog, call_deadline_ms: DEADLINE_MS });
}

test("connections of the queue that went silent are given up with their calls, and the queue goes on by new ones", async () => {
  const conn = await open();
  const store = conn.openQueue({ node: "n", now: Date.now, random: Math.random });
  const claim = { op: "claim", worker: "i", worker_id: "w", workload_id: 1, max: 1 } as const;
  const limits = { lease_ms: 1_000, timeout_ms: null, max_in_flight: null, rate_limit: null };
  const NOTHING = { tasks: [], limit: null };
  const flush = () => store.flush([{ ...claim, ...limits }]);
  try {
    expect(await Promise.all([flush(), flush()])).toEqual([[NOTHING], [NOTHING]]);
    proxy.silence();
    const failed = await Promise.allSettled([flush(), flush()]);
    expect(failed.map((one) => one.status === "rejected" && one.reason.name)).toEqual([
      "DeadlineError",
      "DeadlineError",
    ]);
    expect(await Promise.all([flush(), flush()])).toEqual([[NOTHING], [NOTHING]]);
    expect(await store.now()).toBeGreaterThan(0);
  } finally {
    await conn.close();
  }
}, 180_000);

test("the repositories' connections are given up as well, and the next calls are answered by new ones", async () => {
  const conn = await open();
  const db = toDb(conn);
  const row = jobRow();
  const times = Array.from({ length: AT_ONCE }, (_, i) => i);
  // Batched and plain statements, and a transaction.
  const calls = () =>
    Promise.allSettled([
      db.jobs.get(row.job_id),
      db.events.append(row.job_id, []),
      ...times.map((i) => db.jobs.list({ limit: 1 + i }, null)),
      ...times.map((i) => db.settings.setAll({ [`key-${i}`]: i }, i)),
    ]);
  const failures = async () =>
    (await calls()).flatMap((one) => (one.status === "rejected" ? [one.reason.kind] : []));
  try {
    await db.jobs.insert(row);
    expect(await failures()).toEqual([]);
    proxy.silence();
    expect(new Set(await failures())).toEqual(new Set(["unavailable"]));
    expect(await failures()).toEqual([]);
    expect(await db.jobs.get(row.job_id)).toEqual(row);
    await db.ping();
  } finally {
    await conn.close();
  }
}, 180_000);

test("a call of the queue through the repositories' door is told as every other", async () => {
  const conn = await open();
  const queue = toDb(conn).openQueue({ node: "n", now: Date.now, random: Math.random });
  try {
    expect(await queue.now()).toBeGreaterThan(0);
    proxy.silence();
    expect(await queue.now().catch((err) => err.kind)).toBe("unavailable");
    expect(await queue.now()).toBeGreaterThan(0);
  } finally {
    await conn.close();
  }
}, 180_000);
