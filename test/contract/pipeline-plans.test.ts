import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import Client from "better-sqlite3";
import postgres, { type Sql } from "postgres";
import { sqliteMigrations } from "#drizzle/migrations.gen.ts";
import { openQueueClient } from "#hub/platform/db/postgres.ts";
import { prepareStatements } from "#hub/platform/db/queue/sqlite-statements.ts";
import {
  type Case,
  fill,
  LARGE,
  QUEUE_CASES,
  repeat,
  repoCases,
} from "#test/support/models/plan-cases.ts";
import { startPostgres, type TestPostgres } from "#test/support/servers/postgres.ts";

/**
 * Which index each statement of the pipeline uses: on tables that were never analysed, on large analysed ones, and with
 * plans that Postgres makes once for all parameters. A wrong plan passes every other test and stops a queue of a million.
 */

interface Plan {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  Plans?: Plan[];
}

const planIn = (row: unknown): Plan =>
  (row as { "QUERY PLAN": [{ Plan: Plan }] })["QUERY PLAN"][0].Plan;
const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

/** Index names in one line, and the large tables that are read from end to end. */
function judge(plan: Plan): { indexes: string; scanned: string[] } {
  const nodes = nodesOf(plan);
  return {
    indexes: nodes.flatMap((n) => n["Index Name"] ?? []).join(" "),
    scanned: nodes
      .filter((n) => n["Node Type"] === "Seq Scan" && LARGE.includes(n["Relation Name"] ?? ""))
      .map((n) => n["Relation Name"] ?? ""),
  };
}

const literal = (value: unknown): string =>
  value === null
    ? "null"
    : typeof value === "string"
      ? `'${value.replaceAll("'", "''")}'`
      : String(value);

describe("Postgres", () => {
  let server: TestPostgres;
  let client: Sql;
  /** With the queue's own settings of the planner; `client` has the server's. */
  let queue: Sql;
  let cases: Case[];
  beforeAll(async () => {
    cases = [...QUEUE_CASES, ...(await repoCases("postgres"))];
    server = await startPostgres();
    const url = await server.createDatabase();
    client = postgres(url, { max: 1, onnotice: () => {} });
    queue = openQueueClient(url, 1);
  }, 180_000);
  afterAll(async () => {
    await client?.end({ timeout: 1 });
    await queue?.end({ timeout: 1 });
    await server?.stop();
  });

  const explain = async (
    one: Case,
    mode: "custom" | "generic",
    as: Sql = client,
  ): Promise<Plan> => {
    await as.unsafe(`set plan_cache_mode = force_${mode}_plan`);
    await as.unsafe(`prepare one as ${one.sql}`);
    try {
      const values = one.params.length > 0 ? `(${one.params.map(literal).join(", ")})` : "";
      const [row] = await as.unsafe(`explain (format json) execute one${values}`);
      return planIn(row);
    } finally {
      await as.unsafe("deallocate one");
    }
  };
  const wrongPlans = async (mode: "custom" | "generic"): Promise<string[]> => [
    ...(await wrongOf(cases, mode, client)),
    ...(await wrongOf(QUEUE_CASES, mode, queue)),
  ];
  const wrongOf = async (
    all: readonly Case[],
    mode: "custom" | "generic",
    as: Sql,
  ): Promise<string[]> => {
    const wrong: string[] = [];
    for (const one of all) {
      const { indexes, scanned } = judge(await explain(one, mode, as));
      const named =
        typeof one.index === "string" ? indexes.includes(one.index) : one.index.test(indexes);
      if (!named || scanned.length > 0)
        wrong.push(
          `${one.name}: uses ${indexes || "no index"}, scans ${scanned.join() || "nothing"}`,
        );
    }
    return wrong;
  };

  test("tables that were never analysed", async () => {
    await client.unsafe(fill(50_000));
    expect(await wrongPlans("custom")).toEqual([]);
  }, 180_000);
  test("tables that were never analysed, one plan for all parameters", async () => {
    expect(await wrongPlans("generic")).toEqual([]);
  });

  test("a claim on a table that was never analysed touches what it takes and not what it leaves", async () => {
    const [claim] = cases as [Case];
    await client.unsafe("begin");
    try {
      const values = claim.params.map(literal).join(", ");
      await client.unsafe(`prepare one as ${claim.sql}`);
      const [row] = await client.unsafe(`explain (analyze, format json) execute one(${values})`);
      type Ran = Plan & {
        "Actual Rows": number;
        "Actual Loops": number;
        "Rows Removed by Join Filter"?: number;
      };
      const nodes = nodesOf(planIn(row)) as Ran[];
      const most = nodes.map(
        (n) => n["Actual Rows"] * n["Actual Loops"] + (n["Rows Removed by Join Filter"] ?? 0),
      );
      // 100 tasks for two workers: no step handles more than each task once for each worker.
      expect(Math.max(...most)).toBeLessThanOrEqual(200);
    } finally {
      await client.unsafe("rollback");
      await client.unsafe("deallocate all");
    }
  });

  test("large tables", async () => {
    await client.unsafe("analyze");
    expect(await wrongPlans("custom")).toEqual([]);
  }, 180_000);
  test("large tables, one plan for all parameters", async () => {
    expect(await wrongPlans("generic")).toEqual([]);
  });
});

describe("SQLite", () => {
  let client: Client.Database;
  beforeAll(() => {
    client = new Client(":memory:");
    for (const { sql } of sqliteMigrations)
      for (const statement of sql.split("--> statement-breakpoint")) client.exec(statement);
  });
  afterAll(() => client.close());

  /** The steps of a plan that go over a large table without an index. */
  const plan = (sql: string, params: unknown[]): { steps: string; scans: string[] } => {
    const rows = client
      .prepare<unknown[], { detail: string }>(`explain query plan ${sql}`)
      .all(...params);
    const details = rows.map((row) => row.detail);
    return {
      steps: details.join("; ").replaceAll("INTEGER PRIMARY KEY", "rowid"),
      scans: details.filter(
        (d) =>
          LARGE.some((t) => d === `SCAN ${t}` || d.startsWith(`SCAN ${t} `)) &&
          !d.includes("INDEX"),
      ),
    };
  };

  test("the queue's statements search, each on its index", () => {
    const sources = prepareStatements(client);
    const expected: Record<string, string> = {
      complete: "rowid",
      held: "rowid",
      release: "rowid",
      renew: "rowid",
      expired: "tasks_lease_idx",
      promote: "tasks_due_idx",
      cancel: "tasks_pk_idx",
      resetFailed: "tasks_failed_idx",
      resetOne: "tasks_pk_idx",
      runOf: "runs_attempt_idx",
      peek: "tasks_",
      peekFailed: "tasks_failed_idx",
    };
    const wrong: string[] = [];
    for (const [name, index] of Object.entries(expected)) {
      const { source } = sources[name as keyof typeof sources] as unknown as { source: string };
      const named = [...source.matchAll(/@\w+/g)].length > 0;
      const holes = repeat((source.match(/\?/g) ?? []).length, 1);
      const { steps, scans } = plan(source, named ? [{}] : holes);
      if (!steps.includes(index) || scans.length > 0) wrong.push(`${name}: ${steps}`);
    }
    expect(wrong).toEqual([]);
  });

  test("the repositories' statements go by an index, or by the rowid in the order that is asked for", async () => {
    const wrong: string[] = [];
    for (const one of await repoCases("sqlite")) {
      const { steps, scans } = plan(one.sql, one.params);
      const ordered = one.index instanceof RegExp && one.index.source.includes("rowid");
      const named =
        typeof one.index === "string"
          ? steps.includes(one.index)
          : one.index.test(steps) || ordered;
      if (
        !named ||
        (scans.length > 0 && !ordered) ||
        (ordered && steps.includes("TEMP B-TREE FOR ORDER"))
      )
        wrong.push(`${one.name}: ${steps}`);
    }
    expect(wrong).toEqual([]);
  });
});
