import { describe, expect, test } from "bun:test";
import type { JobRow } from "#hub/platform/db/rows.ts";
import type { Db } from "#hub/platform/db/storage.ts";
import { assetRow, claimOf, eachDialect, jobRow } from "#test/support/servers/db.ts";
import { END, insertJobs, running, times } from "#test/support/servers/stored-jobs.ts";

eachDialect((open) => {
  describe("the queue", () => {
    test("positions count from 1, oldest first, and close up when one leaves", async () => {
      const db = await open();
      const [a, b, c] = await insertJobs(db, [
        jobRow({ created_at: 10 }),
        jobRow({ created_at: 10 }),
        jobRow({ created_at: 5 }),
      ]);
      const positions = () =>
        Promise.all([a, b, c].map((job) => db.jobs.queuePosition(job?.job_id ?? "")));
      expect(await positions()).toEqual([2, 3, 1]);
      await db.jobs.claim(claimOf(c?.job_id ?? ""));
      expect(await positions()).toEqual([1, 2, null]);
      expect(await db.jobs.queuePosition("nope")).toBeNull();
    });

    test("oldestQueued and runningBefore give the oldest first, up to the age and the limit", async () => {
      const db = await open();
      const rows = await insertJobs(
        db,
        [30, 10, 20, 40].map((created_at) => jobRow({ created_at })),
      );
      expect((await db.jobs.oldestQueued(30, 2)).map((job) => job.created_at)).toEqual([10, 20]);
      for (const row of rows) await db.jobs.claim(claimOf(row.job_id));
      expect(await db.jobs.oldestQueued(100, 10)).toEqual([]);
      expect((await db.jobs.runningBefore(30, 10)).map((job) => job.created_at)).toEqual([
        10, 20, 30,
      ]);
    });

    test("oldestQueued leaves out scripted jobs, or those younger than asked for", async () => {
      const db = await open();
      await insertJobs(db, [
        jobRow({ created_at: 10, mode: "rerun" }),
        jobRow({ created_at: 20 }),
        jobRow({ created_at: 30, mode: "codegen-loop" }),
        jobRow({ created_at: 40 }),
      ]);
      const found = async (...asked: Parameters<Db["jobs"]["oldestQueued"]>) =>
        (await db.jobs.oldestQueued(...asked)).map((job) => job.created_at);
      expect(await found(100, 10)).toEqual([10, 20, 30, 40]);
      expect(await found(100, 10, "fetch")).toEqual([20, 40]);
      expect(await found(100, 10, "all", 29)).toEqual([10, 20, 40]);
      expect(await found(100, 10, "scripted")).toEqual([10, 30]);
      expect(await found(100, 10, "scripted", 29)).toEqual([10]);
      expect(await found(20, 1, "all", 29)).toEqual([10]);
    });

    test("markQueued names the stage of a queued job once; whoever claims it begins without one", async () => {
      const db = await open();
      const [row] = await insertJobs(db, [jobRow({})]);
      const job_id = row?.job_id ?? "";
      const marks = await Promise.all(times(5).map(() => db.jobs.markQueued(job_id, "queued")));
      expect(marks.filter(Boolean)).toHaveLength(1);
      expect(await db.jobs.get(job_id)).toMatchObject({ status: "queued", stage: "queued" });
      expect(await db.jobs.claim(claimOf(job_id))).toMatchObject({ stage: null });
      expect(await db.jobs.markQueued(job_id, "queued")).toBe(false);
      expect(await db.jobs.markQueued("nope", "queued")).toBe(false);
    });
  });

  describe("list", () => {
    const page = async (db: Db, limit: number, from: JobRow | null) =>
      db.jobs.list({ limit }, from && { created_at: from.created_at, job_id: from.job_id });

    test("is newest first, and pages stay put while jobs arrive, end and leave", async () => {
      const db = await open();
      // Four jobs share each millisecond, so the id has to break the tie.
      const rows = await insertJobs(
        db,
        times(40).map((i) => jobRow({ created_at: 1_000 + Math.floor(i / 4) })),
      );
      const expected = [...rows].reverse().map((job) => job.job_id);
      const seen: string[] = [];
      for (let last: JobRow | null = null; ; ) {
        const rowsOfPage = await page(db, 7, last);
        seen.push(...rowsOfPage.map((job) => job.job_id));
        last = rowsOfPage.at(-1) ?? null;
        if (!last) break;
        await db.jobs.insert(jobRow({ created_at: 9_999 }));
        await db.jobs.finishQueued(last.job_id, END);
        // Even the row the cursor names may go.
        await db.jobs.deleteTerminal(last.job_id);
      }
      expect(seen).toEqual(expected);
    });

    test("filters by status, mode, host, worker and time, all at once", async () => {
      const db = await open();
      const target = await running(db, 1, { mode: "rerun", host: "a.test", created_at: 500 });
      await running(db, 2, { mode: "rerun", host: "a.test", created_at: 400 });
      await insertJobs(db, [
        jobRow({ mode: "rerun", host: "a.test", created_at: 500 }),
        jobRow({ mode: "fetch", host: "a.test", created_at: 500 }),
        jobRow({ mode: "rerun", host: "b.test", created_at: 500 }),
      ]);
      const found = await db.jobs.list(
        {
          status: "running",
          mode: "rerun",
          host: "a.test",
          worker_id: "w10",
          since: 500,
          until: 500,
          limit: 10,
        },
        null,
      );
      expect(found).toEqual([target]);
      expect(await db.jobs.list({ since: 401, until: 499, limit: 10 }, null)).toEqual([]);
    });

    test("q is a part of the URL in any case, and %, _ and \\ mean themselves", async () => {
      const db = await open();
      const urls = [
        "http://x/100%",
        "http://x/100x",
        "http://x/a_b",
        "http://x/aXb",
        "http://x/c\\d",
        "http://x/É",
      ];
      await insertJobs(
        db,
        urls.map((url) => jobRow({ url })),
      );
      const find = async (q: string) =>
        (await db.jobs.list({ q, limit: 10 }, null)).map((job) => job.url);
      expect(await find("100%")).toEqual(["http://x/100%"]);
      expect(await find("a_B")).toEqual(["http://x/a_b"]);
      expect(await find("c\\D")).toEqual(["http://x/c\\d"]);
      expect(await find("É")).toEqual(["http://x/É"]);
      expect(await find("HTTP://X/")).toHaveLength(6);
      expect(await find("%")).toHaveLength(1);
      expect(await find("")).toHaveLength(6);
    });

    test("finds exactly a URL, however many others have it as a part", async () => {
      const db = await open();
      const longer = [
        "http://x.test/a/b",
        "http://x.test/a?q=1",
        "http://y.test/?u=http://x.test/a",
      ];
      const rows = ["http://x.test/a", ...longer].map((url) =>
        jobRow({ url, host: new URL(url).hostname }),
      );
      await insertJobs(db, rows);
      const find = async (url: string) =>
        (await db.jobs.list({ url, limit: 10 }, null)).map((job) => job.url);
      expect(await find("http://x.test/a")).toEqual(["http://x.test/a"]);
      for (const none of ["http://x.test/A", "http://x.test/", "x.test", "", "\u0000"])
        expect(await find(none)).toEqual([]);
      expect(await db.jobs.count({ url: "http://x.test/a" })).toBe(1);
    });
  });

  describe("deleteTerminal", () => {
    test("takes assets and events with it", async () => {
      const db = await open();
      const kept = await running(db, 1);
      const gone = await running(db, 2);
      for (const [i, { job_id }] of [kept, gone].entries()) {
        await db.assets.put(assetRow(job_id, "a.png"), i + 1);
        await db.events.append(job_id, [{ ts: 1, type: "log", data: {} }]);
      }
      await db.jobs.finish(gone.job_id, 2, END);
      expect(await db.jobs.deleteTerminal(gone.job_id)).toBe(true);
      expect(await db.jobs.get(gone.job_id)).toBeNull();
      expect(await db.assets.list(gone.job_id)).toEqual([]);
      expect(await db.events.list(gone.job_id, 0, 10)).toEqual([]);
      expect(await db.assets.list(kept.job_id)).toHaveLength(1);
      expect(await db.events.list(kept.job_id, 0, 10)).toHaveLength(1);
    });

    test("leaves queued and running jobs alone", async () => {
      const db = await open();
      const { job_id } = await running(db);
      const [queued] = await insertJobs(db, [jobRow()]);
      expect(await db.jobs.deleteTerminal(job_id)).toBe(false);
      expect(await db.jobs.deleteTerminal(queued?.job_id ?? "")).toBe(false);
      expect(await db.jobs.deleteTerminal("nope")).toBe(false);
      expect(await db.jobs.list({ limit: 10 }, null)).toHaveLength(2);
    });

    test("of 10 at once one removes the job", async () => {
      const db = await open();
      const { job_id } = await running(db);
      await db.jobs.finish(job_id, 1, END);
      const results = await Promise.all(times(10).map(() => db.jobs.deleteTerminal(job_id)));
      expect(results.filter(Boolean)).toHaveLength(1);
    });
  });
});
