import { describe, expect, test } from "bun:test";
import { eachDialect } from "#test/support/db.ts";

const times = (n: number) => Array.from({ length: n }, (_, i) => i);
const worker = (worker_id: string, last_seen_at = 1) => ({
  worker_id,
  address: "10.0.0.1",
  hostname: "host",
  version: "v1",
  last_seen_at,
});

eachDialect((open) => {
  describe("workers", () => {
    test("first sight is active; later ones keep the operator's status and the first sight", async () => {
      const db = await open();
      expect(await db.workers.seen(worker("w1", 5))).toEqual({
        ...worker("w1", 5),
        status: "active",
        first_seen_at: 5,
      });
      await db.workers.setStatus("w1", "drain");
      expect(await db.workers.seen({ ...worker("w1", 9), version: "v2" })).toEqual({
        ...worker("w1", 9),
        version: "v2",
        status: "drain",
        first_seen_at: 5,
      });
    });

    test("20 first sights at once make one row", async () => {
      const db = await open();
      await Promise.all(times(20).map((i) => db.workers.seen(worker("w1", i))));
      expect(await db.workers.list()).toHaveLength(1);
    });

    test("touch moves last_seen_at of the named ones", async () => {
      const db = await open();
      for (const id of ["w1", "w2", "w3"]) await db.workers.seen(worker(id));
      await db.workers.touch(["w1", "w3", "unknown"], 50);
      await db.workers.touch([], 60);
      expect((await db.workers.list()).map((row) => [row.worker_id, row.last_seen_at])).toEqual([
        ["w1", 50],
        ["w2", 1],
        ["w3", 50],
      ]);
    });

    test("get, setStatus and delete tell when there is none", async () => {
      const db = await open();
      expect(await db.workers.get("w1")).toBeNull();
      expect(await db.workers.setStatus("w1", "standby")).toBeNull();
      expect(await db.workers.delete("w1")).toBe(false);
      await db.workers.seen(worker("w1"));
      expect(await db.workers.setStatus("w1", "standby")).toMatchObject({ status: "standby" });
      expect(await db.workers.delete("w1")).toBe(true);
    });
  });

  describe("settings", () => {
    test("keep any JSON value with its type", async () => {
      const db = await open();
      for (const value of ["123", "true", "", '"quoted"', 0, false, [], { a: [null, "x"] }]) {
        await db.settings.set("key", value, 1);
        expect(await db.settings.get("key")).toEqual(value);
      }
    });

    test("null unsets, and what was never set is null", async () => {
      const db = await open();
      expect(await db.settings.get("key")).toBeNull();
      await db.settings.set("key", 1, 1);
      await db.settings.set("key", null, 2);
      expect(await db.settings.get("key")).toBeNull();
    });
  });

  describe("idempotency keys (design/api.md: same key and body, the first answer)", () => {
    const answer = { status: 200, body: { job_id: "x" }, headers: { location: "/jobs/x" } };

    test("of 20 calls with one key one takes it, the others see its row", async () => {
      const db = await open();
      const results = await Promise.all(
        times(20).map((i) => db.idempotency.begin("k", `print-${i}`, i)),
      );
      expect(results.filter((row) => row === null)).toHaveLength(1);
      const fingerprints = new Set(results.flatMap((row) => (row ? [row.fingerprint] : [])));
      expect(fingerprints.size).toBe(1);
    });

    test("show the answer once there is one", async () => {
      const db = await open();
      expect(await db.idempotency.begin("k", "print", 1)).toBeNull();
      expect((await db.idempotency.begin("k", "print", 2))?.answer).toBeNull();
      await db.idempotency.complete("k", answer);
      expect(await db.idempotency.begin("k", "print", 3)).toEqual({
        key: "k",
        fingerprint: "print",
        answer,
        created_at: 1,
      });
    });

    test("given back or expired ones are free again", async () => {
      const db = await open();
      await db.idempotency.begin("a", "print", 1);
      await db.idempotency.abandon("a", 1);
      expect(await db.idempotency.begin("a", "print", 10)).toBeNull();
      await db.idempotency.begin("b", "print", 20);
      expect(await db.idempotency.expire(20)).toBe(1);
      expect(await db.idempotency.begin("a", "print", 30)).toBeNull();
      expect(await db.idempotency.begin("b", "print", 30)).not.toBeNull();
    });
  });

  test("idempotency keys: only the call that took a key and has no answer yet can give it back", async () => {
    const db = await open();
    const answer = { status: 200, body: {}, headers: {} };
    await db.idempotency.begin("k", "print", 1);
    await db.idempotency.abandon("k", 2);
    expect(await db.idempotency.begin("k", "print", 3)).toMatchObject({ created_at: 1 });
    await db.idempotency.complete("k", answer);
    await db.idempotency.abandon("k", 1);
    expect(await db.idempotency.begin("k", "print", 4)).toMatchObject({ created_at: 1, answer });
  });

  test("idempotency keys older than 24 h are free, and of 20 calls one takes such a key", async () => {
    const db = await open();
    const day = 86_400_000;
    await db.idempotency.begin("k", "old", 1);
    await db.idempotency.complete("k", { status: 200, body: {}, headers: {} });
    expect(await db.idempotency.begin("k", "new", 1 + day)).toMatchObject({ fingerprint: "old" });
    const results = await Promise.all(
      times(20).map((i) => db.idempotency.begin("k", `new-${i}`, 2 + day)),
    );
    expect(results.filter((row) => row === null)).toHaveLength(1);
    for (const row of results)
      if (row) expect(row).toMatchObject({ created_at: 2 + day, answer: null });
  });

  test("ping answers while the database is open, and closing twice is fine", async () => {
    const db = await open();
    await db.ping();
    await db.close();
    await db.close();
    expect(db.ping()).rejects.toThrow();
  });
});
