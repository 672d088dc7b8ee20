import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import Client from "better-sqlite3";
import postgres, { type Sql } from "postgres";
import { sqliteMigrations } from "#drizzle/migrations.gen.ts";
import { recordStatements } from "#test/support/fakes/recorded-statements.ts";
import {
  fillOf,
  LARGE,
  SEARCH_CASES,
  type SearchCase,
} from "#test/support/models/search-plan-cases.ts";
import { startPostgres, type TestPostgres } from "#test/support/servers/postgres.ts";

/**
 * No search and no group of failures reads a table from end to end, so that they take as long for a million runs and jobs as
 * for a thousand (rules/search#time). A wrong plan passes every other test.
 */

/** Where no index knows what is looked for: the newest 20,000 runs. */
const MOST_READ = 20_000;

/** Which of its indexes no statement of it used. */
const unused = ({ uses }: SearchCase, plans: string): string[] =>
  uses.filter((index) => !index.test(plans)).map((index) => `does not use ${index.source}`);

describe("sqlite", () => {
  const db = new Client(":memory:");
  beforeAll(() => {
    for (const { sql } of sqliteMigrations) db.exec(sql);
    for (const sql of fillOf("sqlite")) db.exec(sql);
  }, 180_000);
  afterAll(() => void db.close());

  /** Steps that go over all of a large table: those in the order that is asked for end with the statement's limit. */
  const wrongSteps = (details: readonly string[], sql: string, { walks }: SearchCase): string[] =>
    details.filter((step) => {
      if (!LARGE.some((name) => step === `SCAN ${name}` || step.startsWith(`SCAN ${name} `)))
        return false;
      const ordered = /\border by\b/i.test(sql) && /\blimit\b/i.test(sql);
      const sorted = details.some((one) => one.includes("TEMP B-TREE FOR ORDER"));
      return walks?.test(step) !== true && (!ordered || sorted);
    });

  for (const analysed of [false, true])
    test(`no statement goes over a large table, ${analysed ? "" : "never "}analysed`, async () => {
      if (analysed) db.exec("analyze");
      const wrong: Record<string, string[]> = {};
      for (const one of SEARCH_CASES) {
        const plans: string[] = [];
        const said: string[] = [];
        for (const { sql, params } of await recordStatements("sqlite", one.call, one.rows)) {
          const rows = db.prepare(`explain query plan ${sql}`).all(...params) as {
            detail: string;
          }[];
          const details = rows.map(({ detail }) => detail);
          plans.push(...details);
          said.push(...wrongSteps(details, sql, one));
        }
        said.push(...unused(one, plans.join("\n")));
        if (said.length > 0) wrong[one.name] = [...said, ...plans];
      }
      expect(wrong).toEqual({});
    }, 60_000);
});

interface Ran {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  Plans?: Ran[];
}
const nodesOf = (plan: Ran): Ran[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

const literal = (value: unknown): string =>
  value === null
    ? "null"
    : typeof value === "number"
      ? String(value)
      : `'${String(value).replaceAll("'", "''")}'`;

describe("postgres", () => {
  let server: TestPostgres;
  let sql: Sql;
  beforeAll(async () => {
    server = await startPostgres();
    sql = postgres(await server.createDatabase(), { max: 1, onnotice: () => {} });
    for (const one of fillOf("postgres")) await sql.unsafe(one);
  }, 180_000);
  afterAll(async () => {
    await sql?.end({ timeout: 1 });
    await server?.stop();
  });

  const ran = async (statement: string, params: readonly unknown[]): Promise<Ran[]> => {
    await sql.unsafe(`prepare one as ${statement}`);
    try {
      const values = params.length > 0 ? `(${params.map(literal).join(", ")})` : "";
      const [row] = await sql.unsafe(`explain (analyze, format json) execute one${values}`);
      return nodesOf((row as unknown as { "QUERY PLAN": [{ Plan: Ran }] })["QUERY PLAN"][0].Plan);
    } finally {
      await sql.unsafe("deallocate one");
    }
  };
  const wrongIn = (node: Ran): string[] => {
    const table = node["Relation Name"] ?? "";
    const read =
      (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)) * node["Actual Loops"];
    if (!LARGE.includes(table)) return [];
    if (node["Node Type"] === "Seq Scan") return [`scans ${table}`];
    return read > MOST_READ ? [`reads ${read} of ${table} by ${node["Index Name"]}`] : [];
  };
  const wrongOf = async (mode: "custom" | "generic"): Promise<Record<string, string[]>> => {
    await sql.unsafe(`set plan_cache_mode = force_${mode}_plan`);
    const wrong: Record<string, string[]> = {};
    for (const one of SEARCH_CASES) {
      const nodes: Ran[] = [];
      for (const { sql: statement, params } of await recordStatements(
        "postgres",
        one.call,
        one.rows,
      ))
        nodes.push(...(await ran(statement, params)));
      const indexes = nodes.flatMap((node) => node["Index Name"] ?? []).join("\n");
      const said = [...nodes.flatMap(wrongIn), ...unused(one, indexes)];
      if (said.length > 0) wrong[one.name] = [...said, indexes];
    }
    return wrong;
  };

  test("tables that were never analysed", async () => {
    expect(await wrongOf("custom")).toEqual({});
    expect(await wrongOf("generic")).toEqual({});
  }, 180_000);
  test("large tables that were analysed", async () => {
    await sql.unsafe("analyze");
    expect(await wrongOf("custom")).toEqual({});
    expect(await wrongOf("generic")).toEqual({});
  }, 180_000);
});
