import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadDriver } from "#hub/platform/db/sqlite-driver.ts";
import { createCommitGroup } from "#hub/platform/db/sqlite-group.ts";

/** Writes of one turn of the event loop are one transaction; what is answered is stored (rules/storage#writes-of-one-turn). */

const Driver = await loadDriver();
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0).reverse()) end();
});

function open() {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-group-"));
  ends.push(() => rmSync(dir, { recursive: true, force: true }));
  const file = join(dir, "a.db");
  const connect = () => {
    const client = new Driver(file);
    ends.push(() => client.close());
    return client;
  };
  const client = connect();
  client.pragma("journal_mode = WAL");
  client.exec("create table t (n integer primary key) strict");
  const group = createCommitGroup(client);
  const insert = group.join(client.prepare<unknown[]>("insert into t values (?)"));
  const other = connect();
  const add = (n: number) => group.call(async () => void insert.run(n));
  const stored = () =>
    other
      .prepare<[], { n: number }>("select n from t order by n")
      .all()
      .map(({ n }) => n);
  return { client, group, add, stored, connect };
}

test("nothing is answered before it is committed: another connection sees it (rules/storage#writes-of-one-turn)", async () => {
  const { add, stored } = open();
  const calls = [add(1), add(2)];
  expect(stored()).toEqual([]);
  await calls[0];
  expect(stored()).toEqual([1, 2]);
  await calls[1];
});

test("a read that saw what is not committed yet is answered after the commit (rules/storage#writes-of-one-turn)", async () => {
  const { client, group, add, stored } = open();
  void add(1);
  const count = client.prepare<[], { n: number }>("select count(*) as n from t");
  const seen = await group.call(async () => count.get()?.n);
  expect(seen).toBe(1);
  expect(stored()).toEqual([1]);
});

test("a statement that breaks a rule fails alone", async () => {
  const { add, stored } = open();
  const outcomes = await Promise.allSettled([add(1), add(1), add(2)]);
  expect(outcomes.map((o) => o.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(stored()).toEqual([1, 2]);
});

test("an atomic piece that fails leaves the others of its turn alone", async () => {
  const { client, group, add, stored } = open();
  const insert = client.prepare("insert into t values (?)");
  const both = client.transaction(() => {
    insert.run(7);
    throw new Error("no");
  });
  const outcomes = await Promise.allSettled([
    add(1),
    group.call(async () => group.within(() => both.immediate())),
  ]);
  expect(outcomes.map((o) => o.status)).toEqual(["fulfilled", "rejected"]);
  expect(stored()).toEqual([1]);
});

test("when the transaction is lost, every call of its turn fails, and the next turn writes again (rules/storage#writes-of-one-turn)", async () => {
  const { client, add, stored } = open();
  const calls = Promise.allSettled([add(1), add(2)]);
  client.exec("rollback");
  expect((await calls).map((o) => o.status)).toEqual(["rejected", "rejected"]);
  expect(stored()).toEqual([]);
  await add(3);
  expect(stored()).toEqual([3]);
});

test("what is open when the database is closed is committed", async () => {
  const { group, add, stored } = open();
  void add(1);
  group.flush();
  expect(stored()).toEqual([1]);
});
