import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Sql, TransactionSql } from "postgres";
import { openQueueClient } from "#hub/platform/db/postgres.ts";
import { askUntil } from "#test/support/rigs/pull-rig.ts";
import { startPostgres, type TestPostgres } from "#test/support/servers/postgres.ts";

/**
 * A session that ends under its statements: none of them may reach the session after it, nor get that one's answers
 * (rules/storage#postgres).
 */

const SLOW_MS = 60_000;
/** Of a statement that takes no time: what waits longer waits forever. */
const ANSWERED_MS = 10_000;

let server: TestPostgres;
let sql: Sql;
beforeAll(async () => {
  server = await startPostgres();
  sql = openQueueClient(server.url, 1);
  await sql.unsafe("create table written (what text)");
}, SLOW_MS);
afterAll(async () => {
  await sql?.end({ timeout: 1 });
  await server?.stop();
}, SLOW_MS);

type Asked = Sql | TransactionSql;

async function ask(of: Asked, statement: string): Promise<Record<string, unknown>[]> {
  return [...(await of.unsafe(statement, [], { prepare: true }))];
}

/** Ends the session that runs it, once it has sent its first rows. */
const ENDS_ITSELF = `select i, repeat('x', 9000) as filler,
  case when i = 20 then pg_terminate_backend(pg_backend_pid()) end as ended from generate_series(1, 40) i`;

/** Resolves when the server has ended every session, because the process of one of them was killed. */
let crashed: Promise<unknown> = Promise.resolve();

/** Kills the session's process with a statement that it has not read, so that the connection is reset, not closed. */
async function resetUnder(of: Asked): Promise<unknown> {
  const witness = openQueueClient(server.url, 1);
  await ask(witness, "select 1");
  crashed = ask(witness, "select pg_sleep(60)")
    .catch(() => {})
    .finally(() => witness.end({ timeout: 1 }));
  const [session] = await ask(of, "select pg_backend_pid() as pid");
  const pid = Number(session?.pid);
  process.kill(pid, "SIGSTOP");
  const lost = ask(of, "select 'never read' as what").catch((err) => err);
  // The driver writes after this turn of the event loop.
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  process.kill(pid, "SIGKILL");
  return lost;
}

/** The server lets nobody in while it recovers; before, it has not noticed yet. */
async function isBack(): Promise<void> {
  await crashed;
  await askUntil("the server to be back", async () => {
    const other = openQueueClient(server.url, 1);
    try {
      return (await ask(other, "select 1 as one").catch(() => [])).length === 1;
    } finally {
      await other.end({ timeout: 1 });
    }
  });
}

async function expectOwnAnswers(): Promise<void> {
  const answers = sql.begin(async (tx) => {
    const together = await Promise.all(["a", "b"].map((what) => ask(tx, `select '${what}' as v`)));
    return [...together, await ask(tx, "select 'c' as v")];
  });
  const late = new Promise((_, reject) =>
    setTimeout(() => reject(new Error("a statement is not answered")), ANSWERED_MS),
  );
  expect(await Promise.race([answers, late])).toEqual([[{ v: "a" }], [{ v: "b" }], [{ v: "c" }]]);
}

describe.each([
  ["is reset", resetUnder],
  ["is closed within an answer", (of: Asked) => ask(of, ENDS_ITSELF).catch((err) => err)],
] as const)("a session that %s", (_, end) => {
  test(
    "fails its statement, and the next session answers each of its own",
    async () => {
      expect(await end(sql)).toHaveProperty("code");
      await isBack();
      await expectOwnAnswers();
    },
    SLOW_MS,
  );

  test(
    "fails its transaction, whose rollback the next session does not get",
    async () => {
      const failed = sql.begin(async (tx) => {
        const err = await end(tx);
        throw err;
      });
      expect(await failed.catch((err) => err)).toHaveProperty("code");
      await isBack();
      await expectOwnAnswers();
      await expectOwnAnswers();
    },
    SLOW_MS,
  );

  test(
    "keeps later statements of its transaction from the next session",
    async () => {
      const next = Promise.withResolvers<void>();
      const done = Promise.withResolvers<unknown>();
      const failed = sql.begin(async (tx) => {
        await end(tx);
        await next.promise;
        done.resolve(await ask(tx, "insert into written values ('late')").catch((err) => err));
      });
      expect(await failed.catch((err) => err)).toHaveProperty("code");
      await isBack();
      await expectOwnAnswers();
      next.resolve();
      expect(await done.promise).toHaveProperty("code", "CONNECTION_CLOSED");
      expect(await ask(sql, "select what from written")).toEqual([]);
    },
    SLOW_MS,
  );
});
