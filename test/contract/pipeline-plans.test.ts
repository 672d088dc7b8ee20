import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import Client from "better-sqlite3";
import postgres, { type Sql } from "postgres";
import { sqliteMigrations } from "#drizzle/migrations.gen.ts";
import type { Conn } from "#hub/db/conn.ts";
import { flowRepo } from "#hub/db/flow.ts";
import { openQueueClient } from "#hub/db/postgres.ts";
import * as SQL from "#hub/db/queue/postgres-statements.ts";
import { prepareStatements } from "#hub/db/queue/sqlite-statements.ts";
import { retentionRepo } from "#hub/db/retention.ts";
import { runsRepo } from "#hub/db/runs.ts";
import { viewsRepo } from "#hub/db/views.ts";
import { startPostgres, type TestPostgres } from "#test/support/postgres.ts";
import { type Recorded, recordStatements } from "#test/support/recorded-statements.ts";

/**
 * Which index each statement of the pipeline uses: on tables that were never analysed, on large analysed ones, and with
 * plans that Postgres makes once for all parameters. A wrong plan passes every other test and stops a queue of a million.
 */

/** The tables whose size is the pipeline's: reading one from end to end is what must not happen. */
const LARGE = ["tasks", "runs", "run_logs", "rate_minutes"];
const NOW = 1_700_000_000_000;
const ids = (n: number) => Array.from({ length: n }, (_, i) => 1 + i * 7);
const listOf = (values: unknown[]) => `{${values.join(",")}}`;
const repeat = <T>(n: number, value: T): T[] => new Array<T>(n).fill(value);

interface Case {
  name: string;
  index: string | RegExp;
  sql: string;
  params: unknown[];
}

/** Drizzle's statements, by what makes them. `nth`: which of those a call sends. */
const REPO_CASES: {
  name: string;
  index: string | RegExp;
  call: (conn: Conn) => Promise<unknown>;
  rows?: unknown[][];
  nth?: number;
}[] = [
  { name: "claimed tasks", index: "tasks_lease_idx", call: (c) => viewsRepo(c).claimed() },
  { name: "oldest ready", index: "tasks_ready_idx", call: (c) => viewsRepo(c).oldestReady() },
  {
    name: "recent failures",
    index: "runs_failed_idx",
    call: (c) => viewsRepo(c).failures(NOW - 1, 20),
  },
  { name: "last runs", index: "runs_workload_idx", call: (c) => viewsRepo(c).lastRuns(20) },
  {
    name: "who ran what",
    index: /runs_pkey|rowid/,
    call: (c) => viewsRepo(c).recentPairs(1_000, 0),
  },
  { name: "runs of all", index: /runs_pkey|rowid/, call: (c) => runsRepo(c).list({ limit: 50 }) },
  {
    ...{ name: "runs of one workload", index: "runs_workload_idx" },
    call: (c) => runsRepo(c).list({ workload_id: 3, before: 90_000, limit: 50 }),
  },
  {
    ...{ name: "failed runs of one workload", index: "runs_workload_failed_idx" },
    call: (c) => runsRepo(c).list({ workload_id: 3, success: false, limit: 50 }),
  },
  { name: "a run", index: /runs_pkey|rowid/, call: (c) => runsRepo(c).get(77) },
  {
    ...{ name: "retention: the oldest runs", index: /runs_pkey|rowid/ },
    call: (c) => retentionRepo(c).expireRuns({ after: 5, finished_before: NOW, limit: 1_000 }),
  },
  {
    ...{ name: "retention: delete logs", index: /run_logs_run_id_pk|rowid|autoindex_run_logs/ },
    ...{ rows: ids(1_000).map((id) => [id, 1]), nth: 1 },
    call: (c) => retentionRepo(c).expireRuns({ after: 5, finished_before: NOW, limit: 1_000 }),
  },
  {
    ...{ name: "retention: delete runs", index: /runs_pkey|rowid/ },
    ...{ rows: ids(1_000).map((id) => [id, 1]), nth: 2 },
    call: (c) => retentionRepo(c).expireRuns({ after: 5, finished_before: NOW, limit: 1_000 }),
  },
  {
    ...{ name: "retention: the first run too many", index: "runs_workload_idx" },
    call: (c) => retentionRepo(c).firstBeyond(3, 1_000),
  },
  {
    ...{ name: "retention: runs too many", index: "runs_workload_idx" },
    call: (c) =>
      retentionRepo(c).trimRuns({ workload_id: 3, after: 5, upto: 90_000, limit: 1_000 }),
  },
  {
    ...{ name: "purge: tasks of a deleted workload", index: "tasks_pk_idx" },
    call: (c) => retentionRepo(c).purgeTasks(3, "k5", 1_000),
  },
  {
    ...{ name: "purge: delete tasks", index: /tasks_pkey|rowid/ },
    ...{ rows: ids(1_000).map((id) => [id, `k${id}`]), nth: 1 },
    call: (c) => retentionRepo(c).purgeTasks(3, "k5", 1_000),
  },
  {
    ...{ name: "prune: the oldest minute", index: /rate_minutes/ },
    call: (c) => retentionRepo(c).pruneMinutes(NOW),
  },
  {
    ...{ name: "rates of an hour", index: /rate_minutes/ },
    call: (c) => flowRepo(c).rates({ since: NOW - 3_600_000, workload_id: 3 }),
  },
];

async function repoCases(dialect: Conn["dialect"]): Promise<Case[]> {
  return Promise.all(
    REPO_CASES.map(async ({ name, index, call, rows, nth = 0 }) => {
      const recorded = await recordStatements(dialect, call, rows);
      return { name, index, ...(recorded[nth] as Recorded) };
    }),
  );
}

/** A value for each hole of a statement by the type it is cast to: a hundred attempts, the workload 3, the key k5. */
function valuesFor(sql: string): unknown[] {
  const types = new Map<number, string>();
  for (const [, n, type = ""] of sql.matchAll(/\$(\d+)::((?:\w+(?:\[\])?)(?:::\w+(?:\[\])?)*)/g))
    if (!types.has(Number(n))) types.set(Number(n), type);
  return Array.from({ length: types.size }, (_, i) => {
    const type = types.get(i + 1) ?? "";
    if (/\b(bigint|int)\[\]$/.test(type)) return listOf(i === 0 ? ids(100) : repeat(100, 1));
    if (type.endsWith("text[]")) return listOf(repeat(100, "w"));
    if (type.endsWith("bool[]")) return listOf(repeat(100, "f"));
    if (type.endsWith("int")) return 3;
    return "k5";
  });
}

const CLAIM_VALUES = [3, 100, "{w,v}", "{w,v}", "{0,50}", "{50,100}", 60_000, null];
const QUEUE_CASES: Case[] = (
  [
    ["claim", /^(?=.*tasks_ready_idx)(?=.*tasks_pkey)/, SQL.CLAIM, CLAIM_VALUES],
    ["complete", "tasks_pkey", SQL.COMPLETE],
    ["held", "tasks_pkey", SQL.HELD],
    ["fail and expire: give back", "tasks_pkey", SQL.GIVE_BACK],
    ["release", "tasks_pkey", SQL.RELEASE],
    ["renew", "tasks_pkey", SQL.RENEW],
    ["report again", "runs_attempt_idx", SQL.RUNS_OF],
    ["expire", "tasks_lease_idx", SQL.EXPIRED],
    ["promote", /^(?=.*tasks_due_idx)(?=.*tasks_pkey)/, SQL.PROMOTE],
    ["cancel", "tasks_pk_idx", SQL.CANCEL],
    ["reset-failed", /^(?=.*tasks_failed_idx)(?=.*tasks_pkey)/, SQL.RESET_FAILED],
    ["peek at failed", "tasks_failed_idx", SQL.PEEK_FAILED, [3, 50, 0]],
    ["peek at all", /tasks_/, SQL.PEEK, [3, "{0,1,2,3}", 50, 0]],
  ] as [string, string | RegExp, string, unknown[]?][]
).map(([name, index, sql, params = valuesFor(sql)]) => ({ name, index, sql, params }));

/** Ten workloads; half of the tasks ready, a tenth claimed, a fifth failed, a fifth delayed; as many runs, one in 50 failed. */
const fill = (rows: number) => `
insert into workloads (slug, name, description, enabled, supervisor_enabled, executor_type, executor_config, priority,
    batch_size, lease_secs, max_attempts, host_affinity, backoff, emits, schedule_tz, created_at, updated_at)
  select 'w' || g, 'w', '', true, false, 'command', '{}', 0, 1, 60, 3, '[]', '{}', '[]', 'UTC', 0, 0
  from generate_series(1, 10) g;
insert into tasks (workload_id, state, priority, max_attempts, epoch, worker, worker_id, claimed_at, lease_until, run_at, pk,
    created_at)
  select 1 + g % 10, s, 0, 3, case s when 1 then 1 else 0 end, case s when 1 then 'w' end, case s when 1 then 'w' end,
    case s when 1 then ${NOW} end, case s when 1 then ${NOW} + g end, ${NOW} + g, 'k' || g, ${NOW}
  from (select g, (array[0,0,0,0,0,1,2,2,3,3])[1 + (g / 10) % 10] as s from generate_series(1, ${rows}) g) x;
insert into runs (workload_id, task_id, pk, attempt, epoch, outcome, worker_id, started_at, finished_at, duration_ms)
  select 1 + g % 10, g, 'k' || g, 1, 1, case when g % 50 = 0 then 1 else 0 end, 'w', ${NOW} + g, ${NOW} + g, 1
  from generate_series(1, ${rows}) g;
insert into run_logs select g, repeat('x', 300), '' from generate_series(1, ${rows}) g;
insert into rate_minutes select ${NOW} - (g / 10) * 60000, 1 + g % 10, 'claimed', 'n', 1 from generate_series(1, ${rows / 4}) g;`;

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
  }, 60_000);
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
  }, 30_000);
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
  }, 60_000);
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
