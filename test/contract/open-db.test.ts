import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { type OpenDbOptions, openDb, toDb } from "#hub/platform/db/db.ts";
import { openPostgres } from "#hub/platform/db/postgres.ts";
import type { Db } from "#hub/platform/db/storage.ts";
import { createLog, silentLog } from "#shared/kit/log.ts";
import { createQueue } from "#test/support/models/queue.ts";
import { claimOf, jobRow } from "#test/support/servers/db.ts";
import { startPostgres, type TestPostgres } from "#test/support/servers/postgres.ts";

const dir = mkdtempSync(join(tmpdir(), "flotilla-open-"));
const opened: Db[] = [];
const times = (n: number) => Array.from({ length: n }, (_, i) => i);

const open = async (url: string, options: Partial<OpenDbOptions> = {}): Promise<Db> => {
  const db = await openDb(url, { log: silentLog, lock_wait_ms: 0, ...options });
  opened.push(db);
  return db;
};
const failure = (url: string, options?: Partial<OpenDbOptions>): Promise<string> =>
  open(url, options).then(
    () => "it opened",
    (err: unknown) => String(err),
  );

afterEach(async () => {
  for (const db of opened.splice(0)) await db.close();
});
afterAll(() => rmSync(dir, { recursive: true }));

/** A hub that has the database open in a process of its own. */
const child = async (url: string, lock_wait_ms = 0) => {
  const script = join(import.meta.dir, "../support/servers/open-db.ts");
  const spawned = Bun.spawn([process.execPath, script, url, String(lock_wait_ms)], {
    stdin: "pipe",
    stdout: "pipe",
  });
  const reader = spawned.stdout.getReader();
  const { value } = await reader.read();
  const end = async (signal?: NodeJS.Signals) => {
    if (signal) spawned.kill(signal);
    else await spawned.stdin.end();
    await spawned.exited;
  };
  return { said: new TextDecoder().decode(value).trim(), end };
};

describe("SVC_DB_URL for SQLite", () => {
  test("may be sqlite:, file: or a bare path; the directory is made; the data is there next time", async () => {
    const file = join(dir, "new/deep/a.db");
    const row = jobRow();
    const first = await open(`sqlite:${file}`);
    await first.jobs.insert(row);
    await first.close();
    for (const url of [`file:${file}`, file, `sqlite://${file}`]) {
      const db = await open(url);
      expect(db.dialect).toBe("sqlite");
      expect(await db.jobs.get(row.job_id)).toEqual(row);
      await db.close();
    }
  });

  test("sqlite::memory: gives each caller a database of its own", async () => {
    const [a, b] = [await open("sqlite::memory:"), await open("sqlite::memory:")];
    await a.jobs.insert(jobRow());
    expect(await b.jobs.list({ limit: 1 }, null)).toEqual([]);
  });

  test("that cannot be opened is an error naming the variable and the reason", async () => {
    expect(await failure("mysql://x/y")).toMatch(
      /^ConfigError: SVC_DB_URL: mysql: is not supported/,
    );
    expect(await failure("")).toMatch(/^ConfigError: SVC_DB_URL/);
    expect(await failure("sqlite:")).toMatch(/^ConfigError: SVC_DB_URL/);
    writeFileSync(
      join(dir, "text.db"),
      "this is no database, but it is long enough to be looked at".repeat(20),
    );
    expect(await failure(join(dir, "text.db"))).toMatch(
      /^ConfigError: SVC_DB_URL: cannot open .*not a database/,
    );
    mkdirSync(join(dir, "folder.db"));
    expect(await failure(join(dir, "folder.db"))).toMatch(/^ConfigError: SVC_DB_URL: cannot open/);
    expect(await failure(join(dir, "text.db/inside.db"))).toMatch(
      /^ConfigError: SVC_DB_URL: cannot/,
    );
  });
});

describe("one hub per SQLite file", () => {
  test("a second process, and a second opening in this one, are refused while the first has it", async () => {
    const file = join(dir, "two.db");
    const first = await child(file);
    expect(first.said).toBe("open");
    const second = await child(file);
    expect(second.said).toMatch(/SVC_DB_URL: .*two\.db is in use by another hub.*need Postgres/);
    await second.end();
    expect(await failure(file)).toContain("in use by another hub");
    await first.end();
    await open(file);
    expect(await failure(file)).toContain("in use by another hub");
  });

  test("the next hub waits for one that is closing", async () => {
    const file = join(dir, "handover.db");
    const first = await child(file);
    const next = open(file, { lock_wait_ms: 120_000 });
    await first.end();
    await (await next).ping();
  });

  test("after kill -9 the file is free at once and holds every committed row", async () => {
    const file = join(dir, "killed.db");
    const row = jobRow();
    const before = await open(file);
    await before.jobs.insert(row);
    await before.close();
    const first = await child(file);
    await first.end("SIGKILL");
    expect(await (await open(file)).jobs.get(row.job_id)).toEqual(row);
  });

  test("closing leaves no journal behind", async () => {
    const file = join(dir, "clean/x.db");
    await (await open(file)).close();
    expect(readdirSync(join(dir, "clean")).sort()).toEqual(["x.db", "x.db-lock"]);
  });
});

describe("Postgres", () => {
  let server: TestPostgres;
  beforeAll(async () => {
    server = await startPostgres();
  }, 180_000);
  afterAll(async () => {
    await server.stop();
  });

  test("that is not there, or not as the URL says, is an error without the password", async () => {
    const nobody = await failure("postgres://me:hunter2@127.0.0.1:1/x");
    expect(nobody).toMatch(
      /^ConfigError: SVC_DB_URL: cannot use the Postgres database: .*ECONNREFUSED/,
    );
    expect(nobody).not.toContain("hunter2");
    expect(await failure(server.url.replace(/\/postgres$/, "/nope"))).toMatch(
      /database "nope" does not exist/,
    );
    expect(await failure("postgres://a b:99999/x")).toMatch(/^ConfigError: SVC_DB_URL/);
  });

  test("five hubs appending to one job at once never share a seq", async () => {
    const url = await server.createDatabase();
    const hubs = await Promise.all(times(5).map(() => open(url)));
    const row = jobRow();
    await hubs[0]?.jobs.insert(row);
    await Promise.all(
      hubs.flatMap((hub) =>
        times(10).map((i) => hub.events.append(row.job_id, [{ ts: i, type: "log", data: { i } }])),
      ),
    );
    const stored = await hubs[0]?.events.list(row.job_id, 0, 1_000);
    expect(stored?.map((event) => event.seq)).toEqual(times(50).map((i) => i + 1));
  });

  test("of four hubs claiming the same 25 jobs each job has one winner (rules/jobs#two-hubs-and-one-job)", async () => {
    const url = await server.createDatabase();
    const hubs = await Promise.all(times(4).map(() => open(url)));
    const rows = times(25).map(() => jobRow());
    for (const row of rows) await hubs[0]?.jobs.insert(row);
    const claims = await Promise.all(
      rows.flatMap((row) =>
        hubs.map((hub, i) => hub.jobs.claim(claimOf(row.job_id, i + 1, `w${i}`))),
      ),
    );
    expect(claims.filter((claim) => claim !== null)).toHaveLength(25);
  });

  test("that goes away is told as unavailable (503), and calls work again when it is back", async () => {
    const db = await open(await server.createDatabase());
    const row = jobRow();
    await db.jobs.insert(row);
    await server.kill();
    const calls = [
      () => db.jobs.get(row.job_id),
      () => db.jobs.claim(claimOf(row.job_id)),
      () => db.events.append(row.job_id, [{ ts: 1, type: "log", data: {} }]),
      () => db.ping(),
    ];
    const told = await Promise.all(
      [...calls, ...calls].map((call) => call().catch((err: unknown) => err)),
    );
    for (const err of told)
      expect(err).toMatchObject({ name: "AppError", kind: "unavailable", status: 503 });
    await server.restart();
    expect(await db.jobs.get(row.job_id)).toEqual(row);
    expect(await db.jobs.claim(claimOf(row.job_id))).toMatchObject({ status: "running" });
  });

  test("that stops answering is given up after the deadline, not waited for", async () => {
    const url = await server.createDatabase();
    // A busy machine takes its time to connect, at first and once the server goes on.
    const db = toDb(await openPostgres(url, { log: silentLog, call_deadline_ms: 3_000 }));
    opened.push(db);
    await db.ping();
    server.freeze();
    try {
      expect(await db.ping().catch((err: unknown) => err)).toMatchObject({ kind: "unavailable" });
    } finally {
      server.thaw();
    }
    await db.ping();
  });

  describe("has one hub", () => {
    const as_hub = true;
    const TAKEN =
      "ConfigError: SVC_DB_URL: another hub uses this database; several hubs need SVC_REDIS_URL";

    test("a second hub is refused and changes nothing, until the first has closed", async () => {
      const url = await server.createDatabase("empty");
      const first = await open(url, { as_hub });
      expect(await failure(url, { as_hub })).toBe(TAKEN);
      await first.ping();
      // The control plane, a backup or a console may open it beside the hub.
      await (await open(url)).ping();
      await first.close();
      await (await open(url, { as_hub })).ping();
      await open(await server.createDatabase(), { as_hub });
    });

    test("the next hub waits for one that is closing", async () => {
      const url = await server.createDatabase();
      const first = await open(url, { as_hub });
      const next = open(url, { as_hub, lock_wait_ms: 120_000 });
      await first.close();
      await (await next).ping();
    });

    test("after kill -9 of the hub another one may start", async () => {
      const url = await server.createDatabase();
      const first = await child(url);
      expect(first.said).toBe("open");
      expect(await failure(url, { as_hub })).toBe(TAKEN);
      await first.end("SIGKILL");
      await (await open(url, { as_hub, lock_wait_ms: 120_000 })).ping();
    });

    test("a hub whose connection broke takes the lock again, or says that another one has it", async () => {
      const url = await server.createDatabase();
      const lines = createQueue<string>();
      const log = createLog("info", (line) => lines.push(line));
      const first = await open(url, { as_hub, log });
      await server.kill();
      await server.restart();
      await lines.next((line) => line.includes("was lost and has been taken again"));
      expect(await failure(url, { as_hub })).toBe(TAKEN);
      await first.ping();
      const thief = postgres(url, { max: 1, onnotice: () => {} });
      try {
        // Its session ends, and another takes the lock in the same moment.
        await thief`select pg_terminate_backend(pid), pg_advisory_lock(${0x666c6f75})
          from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`;
        await lines.next((line) => line.includes("another hub has taken this hub's database"));
      } finally {
        await thief.end({ timeout: 1 });
      }
      await lines.next((line) => line.includes("was lost and has been taken again"));
    });
  });

  test("a broken promise of the schema stays an error of its own", async () => {
    const db = await open(await server.createDatabase());
    const row = jobRow();
    await db.jobs.insert(row);
    expect(await db.jobs.insert(row).catch((err: unknown) => err)).not.toMatchObject({
      name: "AppError",
    });
  });
});
