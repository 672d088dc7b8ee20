import { afterAll, beforeAll, expect, test } from "bun:test";
import postgres from "postgres";
import { pgMigrations } from "#drizzle/migrations.gen.ts";
import { inEmptyDir, PROGRAM, runProgram } from "#test/support/rigs/program.ts";
import { startPostgres, type TestPostgres } from "#test/support/servers/postgres.ts";

const migrate = (env: Record<string, string>, ...flags: string[]) =>
  runProgram([...PROGRAM, "migrate", ...flags], { env });

let server: TestPostgres;
beforeAll(async () => {
  server = await startPostgres();
}, 180_000);
afterAll(() => server.stop());

test("migrate brings a Postgres database up to date once, with two processes at the same time (rules/storage#migrations)", async () => {
  const env = { SVC_DB_URL: await server.createDatabase("empty") };
  const dry = await migrate(env, "--dry-run");
  expect(dry.code).toBe(10);
  expect(dry.stdout.trim().split("\n")).toEqual(pgMigrations.map(({ name }) => `missing ${name}`));
  const both = await Promise.all([migrate(env), migrate(env)]);
  expect(both.map(({ code, stderr }) => ({ code, stderr }))).toEqual([
    { code: 0, stderr: "" },
    { code: 0, stderr: "" },
  ]);
  const applied = both.flatMap(({ stdout }) => stdout.match(/(?<=^applied ).*/gm) ?? []).sort();
  expect(applied).toEqual(pgMigrations.map(({ name }) => name).sort());
  expect((await migrate(env)).stdout).toMatch(/^Postgres is up to date: \d+ migrations/);
}, 180_000);

test("migrate names a database that the server does not have, and makes none (rules/storage#migrations)", async () => {
  const there = new URL(await server.createDatabase("empty"));
  there.pathname = "/nobody_made_it";
  for (const [flags, code] of [
    [["--dry-run"], 11],
    [[], 1],
  ] as const) {
    const said = await migrate({ SVC_DB_URL: there.href }, ...flags);
    expect(said).toMatchObject({ code, stdout: "" });
    expect(said.stderr).toContain("the server has no database nobody_made_it");
  }
}, 180_000);

test("a database newer than the program is refused with a sentence, and stays as it is (rules/storage#migrations)", async () => {
  const env = { SVC_DB_URL: await server.createDatabase("empty") };
  await migrate(env);
  const sql = postgres(env.SVC_DB_URL, { max: 1 });
  await sql`insert into schema_migrations values ('9999_later', 'x', 0)`;
  await sql.end();
  for (const flags of [[], ["--dry-run"]]) {
    const { code, stderr } = await migrate(env, ...flags);
    expect(code).toBe(2);
    expect(stderr).toContain(
      "the database is newer than this program: it has migration 9999_later",
    );
  }
}, 180_000);

test(
  "migrate makes a SQLite file, and says so when it cannot reach a server (rules/storage#migrations)",
  () =>
    inEmptyDir(async (dir) => {
      const none = await migrate({ SVC_DATA_DIR: dir }, "--dry-run");
      expect(none).toMatchObject({ code: 11, stdout: "" });
      expect(none.stderr).toContain(`there is no database at ${dir}/flotilla.db`);
      const made = await migrate({ SVC_DATA_DIR: dir });
      expect(made.stdout).toContain("applied 0000_init");
      const again = await migrate({ SVC_DATA_DIR: dir }, "--dry-run");
      expect(again.code).toBe(0);
      expect(again.stdout).toContain("SQLite is up to date");
      const away = await migrate({ SVC_DB_URL: "postgres://a:geheim@127.0.0.1:9/x" });
      expect(away.code).toBe(1);
      expect(away.stderr).toContain("SVC_DB_URL: the database cannot be used");
      expect(away.stderr).not.toContain("geheim");
    }),
  180_000,
);
