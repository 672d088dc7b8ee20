import { describe, expect, test } from "bun:test";
import type { KeyClaim } from "#hub/platform/db/platform-types.ts";
import type { Db } from "#hub/platform/db/storage.ts";
import { eachDialect } from "#test/support/servers/db.ts";

const times = (n: number) => Array.from({ length: n }, (_, i) => i);
const worker = (worker_id: string, last_seen_at = 1) => ({
  worker_id,
  address: "10.0.0.1",
  hostname: "host",
  version: "v1",
  last_seen_at,
});

const begin = (db: Db, key: string, fingerprint: string, more: Partial<KeyClaim> = {}) =>
  db.idempotency.begin({
    key,
    fingerprint,
    owner: "me",
    now: 1,
    monotonic: 1,
    lease_ms: 60_000,
    ...more,
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

  describe("idempotency keys (same key and body, the first answer: rules/http#idempotency-keys)", () => {
    const answer = { status: 200, body: { job_id: "x" }, headers: { location: "/jobs/x" } };

    test("of 20 calls with one key one takes it, the others see its row", async () => {
      const db = await open();
      const results = await Promise.all(
        times(20).map((i) => begin(db, "k", `print-${i}`, { now: i })),
      );
      expect(results.filter((row) => row === null)).toHaveLength(1);
      const fingerprints = new Set(results.flatMap((row) => (row ? [row.fingerprint] : [])));
      expect(fingerprints.size).toBe(1);
    });

    test("show the answer once there is one", async () => {
      const db = await open();
      expect(await begin(db, "k", "print")).toBeNull();
      expect(await begin(db, "k", "print", { now: 2 })).toMatchObject({
        answer: null,
        leased: true,
      });
      await db.idempotency.complete("k", "me", answer);
      expect(await begin(db, "k", "print", { now: 3 })).toMatchObject({
        key: "k",
        fingerprint: "print",
        owner: "me",
        answer,
        created_at: 1,
      });
    });

    test("given back or expired ones are free again", async () => {
      const db = await open();
      await begin(db, "a", "print");
      await db.idempotency.abandon("a", "me");
      expect(await begin(db, "a", "print", { now: 10 })).toBeNull();
      await begin(db, "b", "print", { now: 20 });
      expect(await db.idempotency.expire(20)).toBe(1);
      expect(await begin(db, "a", "print", { now: 30 })).toBeNull();
      expect(await begin(db, "b", "print", { now: 30 })).not.toBeNull();
    });
  });

  test("idempotency keys: only the call that took a key and has no answer yet can give it back", async () => {
    const db = await open();
    const answer = { status: 200, body: {}, headers: {} };
    await begin(db, "k", "print");
    await db.idempotency.abandon("k", "another");
    await db.idempotency.complete("k", "another", answer);
    expect(await begin(db, "k", "print", { now: 3 })).toMatchObject({
      created_at: 1,
      answer: null,
    });
    await db.idempotency.complete("k", "me", answer);
    await db.idempotency.abandon("k", "me");
    expect(await begin(db, "k", "print", { now: 4 })).toMatchObject({ created_at: 1, answer });
  });

  test("idempotency keys: one whose lease has lapsed without an answer is another's for the same request, once", async () => {
    const db = await open();
    const answer = { status: 200, body: {}, headers: {} };
    await begin(db, "k", "print", { lease_ms: -1 });
    await begin(db, "answered", "print", { lease_ms: -1 });
    await db.idempotency.complete("answered", "me", answer);
    const of = (owner: string, print = "print") => begin(db, "k", print, { owner, now: 2 });
    expect(await of("second", "another request")).toMatchObject({ fingerprint: "print" });
    const results = await Promise.all(times(20).map(() => of("second")));
    expect(results.filter((row) => row === null)).toHaveLength(1);
    // Who had it before stores nothing under it any more.
    await db.idempotency.complete("k", "me", answer);
    await db.idempotency.abandon("k", "me");
    expect(await of("second")).toMatchObject({ owner: "second", answer: null, leased: true });
    expect(await begin(db, "answered", "print", { owner: "second", now: 2 })).toMatchObject({
      owner: "me",
      answer,
      leased: false,
    });
  });

  test("idempotency keys: a lease does not lapse by a jump of the wall clock (rules/time#the-wall-clock)", async () => {
    const db = await open();
    const hour = 3_600_000;
    await begin(db, "k", "print", { now: hour, monotonic: hour });
    for (const now of [2 * hour, 1])
      expect(await begin(db, "k", "print", { now, monotonic: hour + 1 })).toMatchObject({
        answer: null,
        leased: true,
      });
  });

  test("idempotency keys: renewing leases those of the owner that have no answer", async () => {
    const db = await open();
    for (const key of ["a", "b", "c"]) await begin(db, key, "print", { lease_ms: -1 });
    await db.idempotency.complete("c", "me", { status: 200, body: {}, headers: {} });
    await db.idempotency.renew(["a", "c"], "me", 1, 60_000);
    await db.idempotency.renew(["b"], "another", 1, 60_000);
    expect(await begin(db, "a", "print")).toMatchObject({ leased: true });
    expect(await begin(db, "b", "print")).toBeNull();
    expect(await begin(db, "c", "print")).toMatchObject({ leased: false });
  });

  test("idempotency keys older than 24 h are free, and of 20 calls one takes such a key", async () => {
    const db = await open();
    const day = 86_400_000;
    await begin(db, "k", "old");
    await db.idempotency.complete("k", "me", { status: 200, body: {}, headers: {} });
    expect(await begin(db, "k", "new", { now: 1 + day })).toMatchObject({ fingerprint: "old" });
    const results = await Promise.all(
      times(20).map((i) => begin(db, "k", `new-${i}`, { now: 2 + day })),
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
