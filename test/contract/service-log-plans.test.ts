import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import Client from "better-sqlite3";
import postgres, { type Sql } from "postgres";
import { sqliteMigrations } from "#drizzle/migrations.gen.ts";
import type { Conn } from "#hub/platform/db/conn.ts";
import { serviceLogsRepo } from "#hub/platform/db/service-logs.ts";
import { recordStatements } from "#test/support/fakes/recorded-statements.ts";
import { startPostgres, type TestPostgres } from "#test/support/servers/postgres.ts";

/**
 * No page and no delete of service logs reads the table from end to end, however large it is
 * (rules/pipeline-operations#service-logs).
 */
const ROWS = 20_000;
const FIRST = 1_700_000_000_000;
const middle = FIRST + ROWS / 2;

interface Case {
  name: string;
  index: RegExp;
  call: (conn: Conn) => Promise<unknown>;
  /** What its reads are answered with. */
  rows?: unknown[][];
  /** Which of its statements; the last one by default. */
  nth?: number;
}
const list = (filter: object) => (conn: Conn) =>
  serviceLogsRepo(conn).list({ limit: 201, ...filter });
const deleteOld = (conn: Conn) => serviceLogsRepo(conn).deleteBefore(FIRST + 10, 1_000);
const deleteMany = (conn: Conn) => serviceLogsRepo(conn).deleteBeyond(ROWS - 10, 1_000);
const times = (n: number) => Array.from({ length: n }, (_, i) => i);
const BY_TIME = /service_logs_ts_idx/;
const BY_ID = /service_logs_pkey|INTEGER PRIMARY KEY|rowid/;
const CASES: Case[] = [
  { name: "the newest", index: BY_TIME, call: list({}) },
  { name: "the next page", index: BY_TIME, call: list({ before: { ts: middle, log_id: 9 } }) },
  { name: "a time range", index: BY_TIME, call: list({ since: middle, until: middle + 10 }) },
  { name: "with filters", index: BY_TIME, call: list({ host: "h1", min_level: 30, q: "x" }) },
  { name: "what is too old", index: BY_TIME, call: deleteOld, nth: 0 },
  { name: "what is too much", index: BY_ID, call: deleteMany, rows: [[ROWS]], nth: 1 },
  { name: "deleting", index: BY_ID, call: deleteOld, rows: times(1_000).map((id) => [id]) },
];
const statementOf = async (dialect: Conn["dialect"], { call, rows = [], nth = -1 }: Case) => {
  const recorded = await recordStatements(dialect, call, rows);
  return recorded.at(nth) ?? { sql: "", params: [] };
};

describe("sqlite", () => {
  const db = new Client(":memory:");
  for (const { sql } of sqliteMigrations) db.exec(sql);
  const insert = db.prepare(
    "insert into service_logs (ts, host, service, level, message, fields) values (?, 'h1', 's', 20, 'm', '{}')",
  );
  db.transaction(() => {
    for (let i = 0; i < ROWS; i += 1) insert.run(FIRST + i);
  })();
  afterAll(() => void db.close());

  for (const one of CASES)
    for (const analysed of [false, true])
      test(`${one.name}, ${analysed ? "" : "never "}analysed`, async () => {
        if (analysed) db.exec("analyze");
        const { sql, params } = await statementOf("sqlite", one);
        const rows = db.prepare(`explain query plan ${sql}`).all(...params) as { detail: string }[];
        const plan = rows.map(({ detail }) => detail).join("\n");
        expect(plan).toMatch(one.index);
        expect(plan).not.toMatch(/SCAN service_logs(?! USING)|TEMP B-TREE/);
      });
});

describe("postgres", () => {
  let server: TestPostgres;
  let sql: Sql;
  beforeAll(async () => {
    server = await startPostgres();
    sql = postgres(await server.createDatabase(), { max: 1, onnotice: () => {} });
    await sql`insert into service_logs (ts, host, service, level, message, fields)
      select ${FIRST}::bigint + n, 'h1', 's', 20, repeat('m', 200), '{}' from generate_series(0, ${ROWS - 1}::int) n`;
  }, 180_000);
  afterAll(async () => {
    await sql?.end({ timeout: 1 });
    await server?.stop();
  });

  for (const one of CASES)
    test(`${one.name}, with a plan for all parameters, never analysed and analysed`, async () => {
      const statement = await statementOf("postgres", one);
      const values = statement.params.map((value) =>
        typeof value === "number" ? value : `'${String(value).replaceAll("'", "''")}'`,
      );
      for (const prepare of ["select 1", "analyze service_logs"]) {
        await sql.unsafe(prepare);
        await sql.unsafe("set plan_cache_mode = force_generic_plan");
        await sql.unsafe(`prepare plan as ${statement.sql}`);
        const call = values.length > 0 ? `plan(${values.join(", ")})` : "plan";
        const rows = await sql.unsafe(`explain execute ${call}`);
        await sql.unsafe("deallocate plan");
        const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
        expect(plan).toMatch(one.index);
        expect(plan).not.toMatch(/Seq Scan on service_logs/);
      }
    });
});
