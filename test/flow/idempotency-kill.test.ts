import { Database } from "bun:sqlite";
import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { until } from "#test/support/rigs/fleet-process.ts";
import { PROGRAM, type Program, startProgram } from "#test/support/rigs/program.ts";
import { freePort } from "#test/support/servers/ports.ts";
import { startPostgres, type TestPostgres } from "#test/support/servers/postgres.ts";
import { startRedis, type TestRedis } from "#test/support/servers/redis.ts";

/**
 * Idempotency keys (rules/pipeline-api#idempotency-keys): a call whose process was killed with SIGKILL while it ran is
 * made again by whoever is asked next, and not refused as still running; one whose process lives is not made twice.
 */

setDefaultTimeout(120_000);
const TARGET = "http://site.test/";

let pg: TestPostgres;
let redis: TestRedis;
let dir: string;
let programs: Program[] = [];
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-keys-"));
  pg = await startPostgres();
  redis = await startRedis();
}, 180_000);
afterEach(async () => {
  for (const program of programs) program.kill("SIGKILL");
  await Promise.all(programs.map(({ exited }) => exited));
  programs = [];
});
afterAll(async () => {
  await Promise.all([pg?.stop(), redis?.stop()]);
  rmSync(dir, { recursive: true, force: true });
}, 180_000);

interface Served {
  post(path: string, key: string, body: unknown): Promise<{ status: number; body: Body }>;
  kill(): Promise<void>;
}
type Body = Record<string, unknown>;

/** A process of the program that answers calls. `wait_s`: how long its calls wait for a lane. */
async function serve(
  mode: "hub" | "control",
  name: string,
  env: Record<string, string>,
  wait_s = 0.05,
): Promise<Served> {
  const port = freePort();
  const program = startProgram([...PROGRAM, mode], {
    env: {
      SVC_HOST: "127.0.0.1",
      SVC_PORT: String(port),
      SVC_DATA_DIR: join(dir, name),
      SVC_SUBMIT_WAIT_S: String(wait_s),
      ...env,
    },
  });
  programs.push(program);
  await program.says(mode === "hub" ? "hub started" : "control plane started", 60_000);
  return {
    post: async (path, key, body) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", "idempotency-key": key },
        body: JSON.stringify(body),
      });
      return { status: answer.status, body: (await answer.json()) as Body };
    },
    kill: async () => {
      program.kill("SIGKILL");
      await program.exited;
    },
  };
}

const AT_CAPACITY = { status: 503, body: { detail: "fleet at capacity" } };
const LONG_S = 600;

test("SQLite: the hub that starts again on the same data makes the call of the one that was killed", async () => {
  const first = await serve("hub", "alone", {}, LONG_S);
  const lost = [
    first.post("/sessions", "session", {}),
    first.post("/jobs", "job", { url: TARGET }),
  ].map((call) => call.catch(() => null));
  const file = new Database(join(dir, "alone/flotilla.db"), { readonly: true });
  const taken = () => file.query("select key from idempotency_keys").all().length === 2;
  await until("both keys to be taken", 60_000, taken);
  const stored = file.query("select job_id from jobs");
  await until("the job to be stored", 60_000, () => stored.get() !== null);
  const { job_id } = stored.get() as { job_id: string };
  file.close();
  await first.kill();
  expect(await Promise.all(lost)).toEqual([null, null]);
  const second = await serve("hub", "alone", {});
  expect(await second.post("/sessions", "session", {})).toMatchObject(AT_CAPACITY);
  expect(await second.post("/jobs", "job", { url: TARGET })).toMatchObject({
    status: 200,
    body: { job_id, status: "queued" },
  });
  expect(await second.post("/sessions", "job", {})).toMatchObject({ status: 409 });
});

test("several hubs: the lease of a call is renewed while its hub lives, and lost soon after it is killed", async () => {
  const db_url = await pg.createDatabase("migrated");
  const env = { SVC_DB_URL: db_url, SVC_REDIS_URL: redis.url };
  const a = await serve("hub", "a", env, LONG_S);
  const b = await serve("hub", "b", env);
  const sql = postgres(db_url, { max: 1 });
  try {
    const lost = a.post("/sessions", "k", {}).catch(() => null);
    const until_when = async () => {
      const [row] = await sql`select leased_until from idempotency_keys where key = 'k'`;
      return row ? Number(row.leased_until) : null;
    };
    const first = await until("the key to be taken", 60_000, until_when);
    await until("its lease to be renewed", 60_000, async () => ((await until_when()) ?? 0) > first);
    const again = b.post("/sessions", "k", {});
    await a.kill();
    expect(await lost).toBeNull();
    expect(await again).toMatchObject(AT_CAPACITY);
  } finally {
    await sql.end({ timeout: 5 });
  }
});

test("/api/v1: another control process makes the call of one that was killed, and nothing is stored twice", async () => {
  const db_url = await pg.createDatabase("migrated");
  const env = { SVC_DB_URL: db_url };
  const a = await serve("control", "one", env);
  const b = await serve("control", "two", env);
  const workload = { slug: "w", executor_type: "command", executor_config: { argv: ["true"] } };
  expect((await a.post("/api/v1/workloads", "w", workload)).status).toBe(201);
  const batch = (to: Served) =>
    to.post("/api/v1/workloads/w/tasks/batch", "k", { items: [{ pk: "one" }] });
  const blocker = postgres(db_url, { max: 1 });
  const watcher = postgres(db_url, { max: 1 });
  try {
    let again: ReturnType<typeof batch> | undefined;
    await blocker.begin(async (sql) => {
      await sql`lock table tasks in exclusive mode`;
      const lost = batch(a).catch(() => null);
      await until("the call to wait for the lock", 60_000, async () => {
        const waiting = await watcher`
          select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
        return waiting.length > 0;
      });
      again = batch(b);
      await a.kill();
      expect(await lost).toBeNull();
    });
    const { status, body } = (await again) ?? { status: 0, body: {} };
    expect({ status, sum: Number(body.submitted) + Number(body.duplicates) }).toEqual({
      status: 201,
      sum: 1,
    });
    expect((await watcher`select 1 from tasks`).length).toBe(1);
    // The answer is the key's from now on.
    expect(await batch(b)).toEqual({ status, body });
  } finally {
    await blocker.end({ timeout: 5 });
    await watcher.end({ timeout: 5 });
  }
});
