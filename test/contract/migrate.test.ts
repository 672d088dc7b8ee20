import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { type Migration, pgMigrations, sqliteMigrations } from "#drizzle/migrations.gen.ts";
import type { Conn } from "#hub/platform/db/conn.ts";
import { openPostgres } from "#hub/platform/db/postgres.ts";
import { openSqlite } from "#hub/platform/db/sqlite.ts";
import { loadDriver } from "#hub/platform/db/sqlite-driver.ts";
import { silentLog } from "#shared/kit/log.ts";
import { startPostgres, type TestPostgres } from "#test/support/servers/postgres.ts";

interface Target {
  embedded: readonly Migration[];
  /** A new, empty database. */
  create(): Promise<string>;
  open(url: string, migrations?: readonly Migration[]): Promise<Conn>;
  /** SQL from outside, while no hub has it open. */
  run(url: string, sql: string): Promise<Record<string, unknown>[]>;
}

const dir = mkdtempSync(join(tmpdir(), "flotilla-migrate-"));
let server: TestPostgres | undefined;
let files = 0;
const opened: Conn[] = [];

beforeAll(async () => {
  server = await startPostgres();
}, 180_000);
afterAll(async () => {
  await server?.stop();
  rmSync(dir, { recursive: true });
});
afterEach(async () => {
  for (const conn of opened.splice(0)) await conn.close();
});

const keep = (conn: Conn): Conn => {
  opened.push(conn);
  return conn;
};

const TARGETS: Record<Conn["dialect"], Target> = {
  sqlite: {
    embedded: sqliteMigrations,
    create: async () => {
      files += 1;
      return join(dir, `${files}.db`);
    },
    open: async (url, migrations) =>
      keep(await openSqlite(url, { log: silentLog, lock_wait_ms: 60_000, migrations })),
    run: async (url, sql) => {
      const client = new (await loadDriver())(url);
      const statement = client.prepare<[], Record<string, unknown>>(sql);
      const rows = statement.reader ? statement.all() : [];
      if (!statement.reader) statement.run();
      client.close();
      return rows;
    },
  },
  postgres: {
    embedded: pgMigrations,
    create: async () => (await server?.createDatabase("empty")) ?? "",
    open: async (url, migrations) => keep(await openPostgres(url, { log: silentLog, migrations })),
    run: async (url, sql) => {
      const client = postgres(url, { max: 1, onnotice: () => {} });
      const rows = await client.unsafe<Record<string, unknown>[]>(sql);
      await client.end();
      return [...rows];
    },
  },
};

const APPLIED = "select name, hash from schema_migrations order by name";
const failsToOpen = async (target: Target, url: string, migrations?: readonly Migration[]) => {
  try {
    await target.open(url, migrations);
  } catch (err) {
    return String(err);
  }
  return "it opened";
};

for (const [dialect, target] of Object.entries(TARGETS))
  describe(`migrations on ${dialect}`, () => {
    const extra: Migration = {
      name: "9000_more",
      sql: "create table more (id integer);\n--> statement-breakpoint\ninsert into more values (1);",
    };

    test("make every table from nothing, and are recorded by name and hash", async () => {
      const url = await target.create();
      const conn = await target.open(url);
      expect(await conn.q.select().from(conn.t.jobs)).toEqual([]);
      await conn.close();
      const rows = await target.run(url, APPLIED);
      expect(rows.map((row) => row.name)).toEqual(target.embedded.map((m) => m.name));
      for (const row of rows) expect(row.hash).toMatch(/^[0-9a-f]{64}$/);
    });

    test("opening again applies nothing twice, a new one only itself", async () => {
      const url = await target.create();
      await (await target.open(url)).close();
      await (await target.open(url)).close();
      await (await target.open(url, [...target.embedded, extra])).close();
      expect(await target.run(url, "select id from more")).toEqual([{ id: 1 }]);
      expect(await target.run(url, APPLIED)).toHaveLength(target.embedded.length + 1);
    });

    test("recordings of earlier versions say whether they have a screen (rules/recordings#the-small-picture-of-a-session)", async () => {
      const url = await target.create();
      const at = target.embedded.findIndex(({ name }) => name.endsWith("_recording_screen"));
      await (await target.open(url, target.embedded.slice(0, at))).close();
      for (const [run_id, chunks] of [
        ["with", '[{"at_ms": 1}]'],
        ["without", "[]"],
      ])
        await target.run(
          url,
          `insert into recordings (run_id, session_id, mode, state, started_at, sealed, parts, contents)
           values ('${run_id}', 's', 'screen', 'whole', 1, 0, '[]', '{"chunks": ${chunks}}')`,
        );
      await (await target.open(url)).close();
      const rows = await target.run(
        url,
        "select run_id, has_screen from recordings order by run_id",
      );
      expect(rows.map(({ has_screen }) => Boolean(has_screen))).toEqual([true, false]);
    });

    test("a database newer than the program is refused", async () => {
      const url = await target.create();
      await (await target.open(url, [...target.embedded, extra])).close();
      expect(await failsToOpen(target, url)).toMatch(/SVC_DB_URL.*newer.*9000_more/);
    });

    test("a migration whose content changed is refused", async () => {
      const url = await target.create();
      await (await target.open(url)).close();
      await target.run(url, `update schema_migrations set hash = '${"0".repeat(64)}'`);
      expect(await failsToOpen(target, url)).toMatch(/SVC_DB_URL.*another content.*000000000000/);
    });

    test("a migration that fails leaves nothing of itself", async () => {
      const url = await target.create();
      const bad = {
        ...extra,
        sql: `${extra.sql}\n--> statement-breakpoint\ninsert into nowhere values (1);`,
      };
      expect(await failsToOpen(target, url, [...target.embedded, bad])).toContain("nowhere");
      expect(await target.run(url, APPLIED)).toHaveLength(target.embedded.length);
      await (await target.open(url, [...target.embedded, extra])).close();
      expect(await target.run(url, "select id from more")).toEqual([{ id: 1 }]);
    });
  });

test("four hubs that start at once on an empty Postgres all open it, and each migration ran once", async () => {
  const target = TARGETS.postgres;
  const url = await target.create();
  const conns = await Promise.all(Array.from({ length: 4 }, () => target.open(url)));
  for (const conn of conns) await conn.ping();
  expect(await target.run(url, APPLIED)).toHaveLength(pgMigrations.length);
});
