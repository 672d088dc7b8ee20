import { describe, expect, test } from "bun:test";
import type { Db } from "#hub/platform/db/storage.ts";
import { assetRow, claimOf, eachDialect, jobRow } from "#test/support/servers/db.ts";

const END = { status: "completed", error: null, now: 2 } as const;
const times = (n: number) => Array.from({ length: n }, (_, i) => i);

async function runningJob(db: Db, lease_token = 1): Promise<string> {
  const { job_id } = jobRow();
  await db.jobs.insert(jobRow({ job_id }));
  await db.jobs.claim(claimOf(job_id, lease_token));
  return job_id;
}

async function totals(db: Db, job_id: string) {
  const job = await db.jobs.get(job_id);
  return { asset_count: job?.asset_count ?? -1, asset_bytes: job?.asset_bytes ?? -1 };
}

async function recount(db: Db, job_id: string) {
  const rows = await db.assets.list(job_id);
  return { asset_count: rows.length, asset_bytes: rows.reduce((sum, row) => sum + row.size, 0) };
}

eachDialect((open) => {
  describe("assets.put", () => {
    test("stores the row as given, at the next position, and counts it on the job", async () => {
      const db = await open();
      const id = await runningJob(db);
      const first = assetRow(id, "a.mp4", {
        size: 5_000_000_000,
        status: null,
        partial: true,
        from_cache: true,
        ranges: [{ start: 0, end: 9 }],
      });
      const second = assetRow(id, "b.png", { size: 7, from_service_worker: true });
      expect(await db.assets.put(first, 1)).toBe(true);
      expect(await db.assets.put(second, 1)).toBe(true);
      expect(await db.assets.list(id)).toEqual([
        { ...first, position: 0 },
        { ...second, position: 1 },
      ]);
      expect((await db.assets.list(id, 1)).map(({ name }) => name)).toEqual(["a.mp4"]);
      expect(await db.assets.get(id, "b.png")).toEqual({ ...second, position: 1 });
      expect(await db.assets.get(id, "c.png")).toBeNull();
      expect(await totals(db, id)).toEqual({ asset_count: 2, asset_bytes: 5_000_000_007 });
    });

    test("of a name that is there replaces it, keeps its position and counts it once", async () => {
      const db = await open();
      const id = await runningJob(db);
      await db.assets.put(assetRow(id, "a", { size: 10 }), 1);
      await db.assets.put(assetRow(id, "b", { size: 20 }), 1);
      const again = assetRow(id, "a", {
        size: 4,
        sha256: "f".repeat(64),
        ranges: [],
        mime: "text/css",
      });
      expect(await db.assets.put(again, 1)).toBe(true);
      expect(await db.assets.get(id, "a")).toEqual({ ...again, position: 0 });
      expect(await totals(db, id)).toEqual({ asset_count: 2, asset_bytes: 24 });
    });

    test("by 40 puts at once, half of them of one name, keeps count, bytes and positions exact", async () => {
      const db = await open();
      const id = await runningJob(db);
      const puts = times(40).map((i) =>
        db.assets.put(assetRow(id, i % 2 === 0 ? "same" : `own-${i}`, { size: i + 1 }), 1),
      );
      expect((await Promise.all(puts)).every(Boolean)).toBe(true);
      expect(await totals(db, id)).toEqual(await recount(db, id));
      expect((await db.assets.list(id)).map((row) => row.position)).toEqual(times(21));
    });

    test("under a stale lease stores nothing", async () => {
      const db = await open();
      const id = await runningJob(db, 1);
      await db.jobs.unclaim(id, 1);
      expect(await db.assets.put(assetRow(id, "a"), 1)).toBe(false);
      await db.jobs.claim(claimOf(id, 2));
      expect(await db.assets.put(assetRow(id, "a"), 1)).toBe(false);
      expect(await db.assets.put(assetRow("nope", "a"), 1)).toBe(false);
      expect(await totals(db, id)).toEqual({ asset_count: 0, asset_bytes: 0 });
      expect(await db.assets.list(id)).toEqual([]);
    });

    test("still works for a job cancelled under this lease: partial assets are kept (rules/uploads#whole-or-not-at-all)", async () => {
      const db = await open();
      const id = await runningJob(db, 3);
      await db.jobs.finish(id, 3, { ...END, status: "cancelled" });
      expect(await db.assets.put(assetRow(id, "a"), 3)).toBe(true);
      expect(await db.assets.put(assetRow(id, "b"), 2)).toBe(false);
      expect(await totals(db, id)).toEqual({ asset_count: 1, asset_bytes: 100 });
    });

    test("is refused once the job completed or failed", async () => {
      const db = await open();
      for (const status of ["completed", "failed"] as const) {
        const id = await runningJob(db, 4);
        await db.jobs.finish(id, 4, { ...END, status });
        expect(await db.assets.put(assetRow(id, "late"), 4)).toBe(false);
        expect(await db.assets.list(id)).toEqual([]);
      }
    });

    test("against finish leaves row and count agreeing, whoever was first", async () => {
      const db = await open();
      for (const round of times(15)) {
        const id = await runningJob(db);
        const calls: (() => Promise<unknown>)[] = [
          ...times(4).map((i) => () => db.assets.put(assetRow(id, `a${i}`), 1)),
          () => db.jobs.finish(id, 1, END),
        ];
        if (round % 2 === 1) calls.reverse();
        const results = await Promise.all(calls.map((call) => call()));
        const stored = results.filter((result) => result === true).length;
        expect(await totals(db, id)).toEqual({ asset_count: stored, asset_bytes: stored * 100 });
        expect(await recount(db, id)).toEqual(await totals(db, id));
      }
    });

    test("against deleting the job leaves no orphan", async () => {
      const db = await open();
      const id = await runningJob(db, 1);
      await db.jobs.finish(id, 1, { ...END, status: "cancelled" });
      await Promise.all([
        db.assets.put(assetRow(id, "a"), 1),
        db.jobs.deleteTerminal(id),
        db.assets.put(assetRow(id, "b"), 1),
      ]);
      expect(await db.jobs.get(id)).toBeNull();
      expect(await db.assets.list(id)).toEqual([]);
    });
  });

  describe("assets.putMany", () => {
    test("stores all rows in order, counts new and replaced ones, and find gives them back", async () => {
      const db = await open();
      const id = await runningJob(db);
      await db.assets.put(assetRow(id, "b", { size: 50 }), 1);
      const rows = [
        assetRow(id, "a", { size: 1 }),
        assetRow(id, "b", { size: 2, ranges: [{ start: 0, end: 1 }], status: null }),
        assetRow(id, "c", { size: 3, partial: true }),
      ];
      expect(await db.assets.putMany(id, rows, 1)).toBe(true);
      expect((await db.assets.list(id)).map((row) => row.name)).toEqual(["b", "a", "c"]);
      expect(await totals(db, id)).toEqual({ asset_count: 3, asset_bytes: 6 });
      const found = await db.assets.find(id, ["b", "c", "nope"]);
      expect(found.toSorted((x, y) => x.position - y.position)).toMatchObject(rows.slice(1));
      expect(await db.assets.find(id, [])).toEqual([]);
    });

    test("under a stale lease, or once the job completed, stores none of them", async () => {
      const db = await open();
      const id = await runningJob(db, 1);
      const rows = times(3).map((i) => assetRow(id, `a${i}`));
      expect(await db.assets.putMany(id, rows, 2)).toBe(false);
      await db.jobs.finish(id, 1, END);
      expect(await db.assets.putMany(id, rows, 1)).toBe(false);
      expect(await db.assets.list(id)).toEqual([]);
      expect(await totals(db, id)).toEqual({ asset_count: 0, asset_bytes: 0 });
    });

    test("from several sides at once keeps count, bytes and positions exact", async () => {
      const db = await open();
      const id = await runningJob(db);
      const batches = times(6).map((b) =>
        times(10).map((i) => assetRow(id, i === 0 ? "same" : `b${b}-${i}`, { size: b + i })),
      );
      const puts = batches.map((rows) => db.assets.putMany(id, rows, 1));
      expect((await Promise.all(puts)).every(Boolean)).toBe(true);
      expect(await totals(db, id)).toEqual(await recount(db, id));
      expect((await db.assets.list(id)).map((row) => row.position)).toEqual(times(55));
    });
  });
});
