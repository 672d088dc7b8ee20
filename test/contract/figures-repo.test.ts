import { expect, test } from "bun:test";
import { claimOf, eachDialect, jobRow } from "#test/support/servers/db.ts";
import { insertJobs } from "#test/support/servers/stored-jobs.ts";

/** What the first page of the app counts (rules/figures#figures-of-the-fleet). */

const AT = 1_700_000_000_000;

eachDialect((open) => {
  test("jobs of a time are counted by status, and those whose page answered with an error apart (rules/figures#captures)", async () => {
    const db = await open();
    await insertJobs(db, [
      jobRow({ created_at: AT, status: "completed", http_status: 200 }),
      jobRow({ created_at: AT + 1, status: "completed", http_status: null }),
      jobRow({ created_at: AT + 2, status: "completed", http_status: 399 }),
      jobRow({ created_at: AT + 3, status: "completed", http_status: 400 }),
      // It failed, whatever the page answered.
      jobRow({ created_at: AT + 4, status: "failed", http_status: 500 }),
      jobRow({ created_at: AT + 5, status: "cancelled" }),
      jobRow({ created_at: AT + 6 }),
      jobRow({ created_at: AT + 7, status: "completed", http_status: 500 }),
    ]);
    const counts = await db.figures.counts(AT, AT + 6);
    const text = counts.map(({ status, http_error, n }) => `${status} ${http_error} ${n}`);
    expect(text.sort()).toEqual([
      "cancelled false 1",
      "completed false 3",
      "completed true 1",
      "failed false 1",
      "queued false 1",
    ]);
    expect(await db.figures.counts(AT + 8, AT + 9)).toEqual([]);
  });

  test("hosts with failures come with the worst first, and the newest captures of one with the last first (rules/figures#hosts)", async () => {
    const db = await open();
    const on = (host: string, at: number, fields: object) =>
      jobRow({ host, created_at: AT + at, ...fields });
    await insertJobs(db, [
      on("a.test", 1, { status: "failed" }),
      on("a.test", 2, { status: "completed", http_status: 503 }),
      on("a.test", 3, { status: "completed", http_status: 200 }),
      on("b.test", 4, { status: "failed" }),
      on("c.test", 5, { status: "completed", http_status: 200 }),
      on("a.test", 6, { status: "queued" }),
      on("a.test", 90, { status: "failed" }),
    ]);
    expect(await db.figures.failingHosts(AT, AT + 50, 10)).toEqual([
      { host: "a.test", n: 2 },
      { host: "b.test", n: 1 },
    ]);
    expect(await db.figures.failingHosts(AT, AT + 50, 1)).toHaveLength(1);
    const newest = await db.figures.newest(AT + 2, 2, "a.test");
    expect(newest.map(({ created_at, http_status }) => [created_at - AT, http_status])).toEqual([
      [90, null],
      [3, 200],
    ]);
    expect((await db.figures.newest(AT, 100)).map(({ created_at }) => created_at - AT)).toEqual([
      90, 5, 4, 3, 2, 1,
    ]);
  });

  test("the queue has its oldest, and what came since is added up (rules/figures#storage)", async () => {
    const db = await open();
    expect(await db.figures.queue()).toEqual({ queued: 0, oldest: null });
    expect(await db.figures.bytesSince(AT)).toEqual({ bodies: 0, recordings: 0, first: null });
    expect(await db.figures.begun()).toEqual({ captured: false, session: false });
    const [first] = await insertJobs(db, [
      jobRow({ created_at: AT + 5, asset_bytes: 3_000_000_000 }),
      jobRow({ created_at: AT + 9, asset_bytes: 7 }),
      jobRow({ created_at: AT - 1, asset_bytes: 11 }),
    ]);
    expect(await db.figures.queue()).toEqual({ queued: 3, oldest: AT - 1 });
    await db.jobs.claim(claimOf(first?.job_id ?? ""));
    expect((await db.figures.queue()).queued).toBe(2);
    await db.recordings.begin({
      run_id: "r",
      job_id: null,
      session_id: "s",
      mode: "screen",
      state: "whole",
      started_at: AT,
      ended_at: AT + 4,
      sealed: 30,
      body_bytes: 10,
      has_screen: true,
      parts: [],
      contents: {} as never,
    });
    expect(await db.figures.bytesSince(AT)).toEqual({
      bodies: 3_000_000_007,
      recordings: 40,
      first: AT + 5,
    });
    const { database, profiles } = await db.figures.otherBytes();
    expect(database).toBeGreaterThan(10_000);
    expect(profiles).toBe(0);
    expect((await db.figures.begun()).captured).toBe(true);
  });

  test("a list has jobs of one result, as they are counted (rules/jobs#list-jobs)", async () => {
    const db = await open();
    await insertJobs(db, [
      jobRow({ created_at: AT, status: "completed", http_status: 200 }),
      jobRow({ created_at: AT + 1, status: "completed" }),
      jobRow({ created_at: AT + 2, status: "completed", http_status: 404 }),
      jobRow({ created_at: AT + 3, status: "failed", http_status: 404 }),
      jobRow({ created_at: AT + 4, status: "cancelled" }),
    ]);
    const of = async (result: "completed" | "http_error" | "failed" | "cancelled") =>
      (await db.jobs.list({ result, limit: 10 }, null)).map(({ created_at }) => created_at - AT);
    expect(await of("completed")).toEqual([1, 0]);
    expect(await of("http_error")).toEqual([2]);
    expect(await of("failed")).toEqual([3]);
    expect(await of("cancelled")).toEqual([4]);
  });
});
