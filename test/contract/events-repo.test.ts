import { describe, expect, test } from "bun:test";
import type { EventRow } from "#hub/platform/db/rows.ts";
import type { Db } from "#hub/platform/db/storage.ts";
import { eachDialect, jobRow } from "#test/support/servers/db.ts";

const times = (n: number) => Array.from({ length: n }, (_, i) => i);
const log = (message: string, ts = 1): Pick<EventRow, "ts" | "type" | "data"> => ({
  ts,
  type: "log",
  data: { message },
});

async function newJob(db: Db): Promise<string> {
  const row = jobRow();
  await db.jobs.insert(row);
  return row.job_id;
}

eachDialect((open) => {
  describe("events.append (seq counts from 1 within the job: rules/events#event-stream)", () => {
    test("numbers a batch in order and returns it as stored", async () => {
      const db = await open();
      const id = await newJob(db);
      const first = await db.events.append(id, [log("a", 5.4), log("b")]);
      const second = await db.events.append(id, [
        { ts: 9, type: "done", data: { nested: [1, { x: null }] } },
      ]);
      expect([...first, ...second].map((event) => event.seq)).toEqual([1, 2, 3]);
      expect(first[0]?.ts).toBe(5);
      expect(await db.events.list(id, 0, 10)).toEqual([...first, ...second]);
    });

    test("never gives one seq twice under 50 concurrent appends, and keeps batches together", async () => {
      const db = await open();
      const id = await newJob(db);
      const batches = await Promise.all(
        times(50).map((i) => db.events.append(id, [log(`${i}a`), log(`${i}b`), log(`${i}c`)])),
      );
      for (const [first, second, third] of batches) {
        expect(second?.seq).toBe((first?.seq ?? 0) + 1);
        expect(third?.seq).toBe((first?.seq ?? 0) + 2);
      }
      const stored = await db.events.list(id, 0, 1_000);
      expect(stored.map((event) => event.seq)).toEqual(times(150).map((i) => i + 1));
      expect(stored).toEqual(batches.flat());
    });

    test("numbers each job on its own", async () => {
      const db = await open();
      const ids = await Promise.all(times(5).map(() => newJob(db)));
      await Promise.all(times(10).flatMap(() => ids.map((id) => db.events.append(id, [log("x")]))));
      for (const id of ids)
        expect((await db.events.list(id, 0, 100)).map((event) => event.seq)).toEqual(
          times(10).map((i) => i + 1),
        );
    });

    test("takes a batch of thousands", async () => {
      const db = await open();
      const id = await newJob(db);
      const stored = await db.events.append(
        id,
        times(2_500).map((i) => log(String(i))),
      );
      expect(stored.at(-1)?.seq).toBe(2_500);
      expect((await db.events.list(id, 2_498, 10)).map((event) => event.data.message)).toEqual([
        "2498",
        "2499",
      ]);
    });

    test("of nothing, or to a job that is not there, stores nothing", async () => {
      const db = await open();
      expect(await db.events.append("nope", [log("x")])).toEqual([]);
      expect(await db.events.list("nope", 0, 10)).toEqual([]);
      const id = await newJob(db);
      expect(await db.events.append(id, [])).toEqual([]);
    });

    test("takes any text a page can produce", async () => {
      const db = await open();
      const id = await newJob(db);
      await db.events.append(id, [log("nul \u0000, half \ud83d, backslash-u \\u0000, 🎉")]);
      const [event] = await db.events.list(id, 0, 1);
      expect(event?.data.message).toBe("nul \ufffd, half \ufffd, backslash-u \\u0000, 🎉");
    });
  });

  test("events.list gives what comes after `since`, in order, at most `limit`", async () => {
    const db = await open();
    const id = await newJob(db);
    await db.events.append(
      id,
      times(10).map((i) => log(String(i))),
    );
    expect((await db.events.list(id, 4, 3)).map((event) => event.seq)).toEqual([5, 6, 7]);
    expect(await db.events.list(id, 10, 3)).toEqual([]);
  });
});
