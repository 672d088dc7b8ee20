import { Database } from "bun:sqlite";
import { afterAll, afterEach, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { createLeapingClock } from "#test/support/fakes/leaping-clock.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";
import { startPostgres } from "#test/support/servers/postgres.ts";
import { startRedis } from "#test/support/servers/redis.ts";

/** Full size: `FLEET_DAY_HOURS=24 bun test test/flow/fleet-day.test.ts`; the suite runs half an hour. */
const HOURS = Number(process.env.FLEET_DAY_HOURS ?? 0.5);
const LEAP_MS = 60_000;
const LEAPS = Math.round((HOURS * 3_600_000) / LEAP_MS);
/** After each of them every hub starts anew. */
const LEAPS_PER_STRETCH = Math.min(60, LEAPS / 2);
const STRETCHES = LEAPS / LEAPS_PER_STRETCH;
/** Until then caches fill and statements are compiled; every later stretch is like the one before. */
const WARM_STRETCHES = STRETCHES > 4 ? 2 : 1;
const WORKERS_PER_HUB = 3;
/** Of a heap that was collected: code that was compiled late, and statements that were prepared. */
const HEAP_SLACK_BYTES = 24 * 1024 * 1024;
/** One entry for each name that the program knows: not more, but sometimes fewer. */
const BY_NAME = new Set(["settings_cache"]);
/** The smallest that can be set. */
const LOG_ROWS = 100;

type Clock = ReturnType<typeof createLeapingClock>;
/** Rows of every table. */
type Rows = Record<string, number>;

/** The hubs of a fleet and what they keep outside of themselves. */
interface Fleet {
  clock: Clock;
  hubs: TestHub[];
  rows(): Promise<Rows>;
  /** Names of the keys in the shared store. */
  keys(): Promise<string[]>;
}

let hubs: TestHub[] = [];
const servers: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const hub of hubs) await hub.close();
  hubs = [];
});
afterAll(async () => {
  for (const server of servers) await server.stop();
});

/** Ids and names that are new at every start. */
const kindOf = (key: string) => key.replace(/hub:[\w-]+$/, "hub:…");

/** Everything that could grow: entries of the hubs' maps and sets, keys of the shared store, rows, the heap. */
async function sizesOf({ hubs, rows, keys }: Fleet) {
  const held = hubs.map(({ ctx }) =>
    Object.fromEntries(
      Object.entries(ctx).flatMap(([name, value]) =>
        (value instanceof Map || value instanceof Set) && !BY_NAME.has(name)
          ? [[name, value.size] as const]
          : [],
      ),
    ),
  );
  const now = { held, keys: [...new Set((await keys()).map(kindOf))].sort(), rows: await rows() };
  Bun.gc(true);
  return { ...now, heap: process.memoryUsage().heapUsed };
}

/** Heartbeats, jobs and sessions; after every stretch each hub starts anew, and its workers dial again. */
async function liveThrough({ clock, hubs, rows, keys }: Fleet) {
  const workers = new Map<string, { worker: FakeWorker; hub: TestHub }>();
  const connect = async (hub: TestHub, n: number) => {
    for (let i = 0; i < WORKERS_PER_HUB; i += 1) {
      const worker_id = `w${n}${i}`;
      workers.set(worker_id, { worker: await hub.worker({ worker_id, lanes: 2 }), hub });
    }
  };
  const job = async (hub: TestHub) => {
    const { status, body } = await hub.call("POST", "/jobs", { url: TARGET });
    expect(status).toBe(200);
    const place = workers.get(body.worker_id);
    if (!place) throw new Error(`no worker ${body.worker_id}`);
    const run = await place.worker.assigned.next((a) => a.job_id === body.job_id);
    place.worker.log(run, "page", "loaded");
    place.worker.finish(run);
    await place.hub.signals.next("job finished", { job_id: body.job_id });
    // As an operator who keeps a fleet small does; records of jobs are kept until then.
    expect((await hub.call("DELETE", `/jobs/${body.job_id}`)).status).toBe(204);
  };
  const session = async (hub: TestHub) => {
    const { status, body } = await hub.call("POST", "/sessions", {});
    expect(status).toBe(201);
    expect((await hub.call("POST", `/sessions/${body.session_id}/reload`)).status).toBe(200);
    expect((await hub.call("DELETE", `/sessions/${body.session_id}`)).status).toBe(204);
  };
  /** What the last leap set off is over: a call of every store has been answered after it. */
  const settle = async () => {
    await Promise.all([...workers.values()].map(({ worker }) => worker.settle()));
    for (const { ctx } of hubs) await Promise.all([ctx.kv.get("settled"), ctx.db.jobs.get("none")]);
  };
  const stretch = async () => {
    for (let leap = 0; leap < LEAPS_PER_STRETCH; leap += 1) {
      const hub = hubs[leap % hubs.length] as TestHub;
      clock.leap(LEAP_MS);
      await settle();
      await job(hub);
      if (leap % 10 === 0) await session(hub);
    }
    // What a fake worker remembers is no part of the hub.
    for (const { worker } of workers.values())
      for (const queue of [
        ...[worker.messages, worker.assigned, worker.opening, worker.closing, worker.calls],
      ])
        queue.clear();
    for (const hub of hubs) {
      hub.signals.clear();
      hub.log.length = 0;
      expect((await hub.call("GET", "/workers")).body.workers.length).toBe(workers.size);
    }
  };

  const fleet = { clock, hubs, rows, keys };
  for (const [n, hub] of hubs.entries()) await connect(hub, n);
  await hubs[0]?.ctx.db.settings.set("control.service_log_max_rows", LOG_ROWS, clock.now());
  let warm: Awaited<ReturnType<typeof sizesOf>> | undefined;
  for (let i = 0; i < STRETCHES; i += 1) {
    if (i > 0)
      for (const [n, hub] of hubs.entries()) {
        await hub.restart();
        await connect(hub, n);
      }
    await stretch();
    if (i + 1 === WARM_STRETCHES) warm = await sizesOf(fleet);
  }
  const last = await sizesOf(fleet);
  const [hub] = hubs;
  for (const worker_id of workers.keys()) expect(await hub?.ctx.leases.list(worker_id)).toEqual([]);
  // All of them have ended, and so have their records.
  expect(await hub?.ctx.db.sessions.openBefore(Number.MAX_SAFE_INTEGER, 10)).toEqual([]);
  return { warm: warm as typeof last, last };
}

function judge({ warm, last }: Awaited<ReturnType<typeof liveThrough>>): void {
  expect(last.held).toEqual(warm.held);
  expect(last.keys).toEqual(warm.keys);
  // Every call that changed something leaves an entry, for 90 days, and every session a record, as long as jobs are kept.
  const { service_logs, audit: _audit, sessions: _sessions, ...rows } = last.rows;
  const { service_logs: _logs, audit: _then, sessions: _past, ...warm_rows } = warm.rows;
  expect(rows).toEqual(warm_rows);
  // Pruned once a minute; a minute of two hubs that start is some fifty lines.
  expect(service_logs).toBeLessThan(3 * LOG_ROWS);
  expect(last.heap - warm.heap).toBeLessThan(HEAP_SLACK_BYTES);
  const mb = (bytes: number) => (bytes / 1024 / 1024).toFixed(1);
  console.log(
    `${HOURS} h: heap ${mb(warm.heap)} → ${mb(last.heap)} MB, ${last.keys.length} keys, rows ` +
      `${JSON.stringify(Object.fromEntries(Object.entries(last.rows).filter(([, n]) => n > 0)))}`,
  );
}

test(`${HOURS} hours of heartbeats, jobs, sessions and restarts leave no more in a hub than the first part of them (rules/operations#memory-stays-flat)`, async () => {
  const clock = createLeapingClock();
  const hub = await startTestHub({ clock, alone: true });
  hubs = [hub];
  const rows = async (): Promise<Rows> => {
    using db = new Database(join(hub.data_dir, "flotilla.db"), { readonly: true });
    // The index of words keeps its pages as it likes, and merges them now and then.
    const tables = db
      .query<{ name: string }, []>(
        "select name from sqlite_master where type = 'table' and name not glob 'job_texts_index_*'",
      )
      .all();
    const count = (name: string) =>
      db.query<{ n: number }, []>(`select count(*) as n from "${name}"`).get()?.n ?? 0;
    return Object.fromEntries(tables.map(({ name }) => [name, count(name)]));
  };
  const kinds = ["hub:", "worker:", "session:", "preview:"];
  const keys = async () =>
    (await Promise.all(kinds.map((kind) => hub.ctx.kv.list(kind)))).flat().map(({ key }) => key);
  judge(await liveThrough({ clock, hubs, rows, keys }));
}, 900_000);

test(`the same ${HOURS} hours on two hubs with Postgres and Redis leave no more rows and keys, and every key expires (rules/operations#memory-stays-flat)`, async () => {
  const [pg, redis] = await Promise.all([startPostgres(), startRedis()]);
  const db_url = await pg.createDatabase();
  const objects = await mkdtemp(join(tmpdir(), "flotilla-objects-"));
  servers.push(pg, redis, { stop: () => rm(objects, { recursive: true, force: true }) });
  const clock = createLeapingClock();
  for (let n = 0; n < 2; n += 1)
    hubs.push(
      await startTestHub({
        clock,
        env: {
          SVC_DB_URL: db_url,
          SVC_REDIS_URL: redis.url,
          SVC_OBJECTS_URL: `file:${objects}`,
        },
      }),
    );
  const rows = async (): Promise<Rows> => {
    const sql = postgres(db_url, { max: 1 });
    const tables = await sql<{ name: string }[]>`
      select tablename as name from pg_tables where schemaname = 'public'`;
    const counted: Rows = {};
    for (const { name } of tables) {
      const [row] = await sql<{ n: number }[]>`select count(*)::int as n from ${sql(name)}`;
      counted[name] = row?.n ?? 0;
    }
    await sql.end();
    return counted;
  };
  const keys = async (): Promise<string[]> => redis.send("KEYS", "*");
  judge(await liveThrough({ clock, hubs, rows, keys }));
  const forever: string[] = [];
  for (const key of await keys())
    if ((await redis.send("PTTL", key)) === -1) forever.push(key.replace(/^[^{]*/, ""));
  // The last token of a lease: one number.
  expect(forever).toEqual(["{leases}:token"]);
}, 900_000);
