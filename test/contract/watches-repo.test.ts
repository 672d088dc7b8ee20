import { expect, test } from "bun:test";
import type { WatchRow } from "#hub/platform/db/rows.ts";
import type { Db } from "#hub/platform/db/storage.ts";
import { eachDialect, jobRow } from "#test/support/servers/db.ts";

/** Watches in the database: every race is decided once (rules/watches#one-capture-for-each-time). */

const watch = (watch_id: string, more: Partial<WatchRow> = {}): WatchRow => ({
  watch_id,
  name: "",
  url: jobRow().url,
  options: { scroll: true },
  cron: null,
  cron_tz: "UTC",
  every_s: 60,
  paused: false,
  compare: ["text"],
  ignore_text: ["*now*"],
  ignore_assets: [],
  keep: 2,
  webhook_url: null,
  next_at: 1_000,
  capturing: null,
  taken_until: 0,
  baseline: null,
  last_job_id: null,
  last_status: null,
  last_at: null,
  last_changed: null,
  changed_job_id: null,
  changed_at: null,
  failing_since: null,
  failures: 0,
  last_error: null,
  captures: 0,
  changes: 0,
  created_at: 1,
  updated_at: 1,
  ...more,
});
const due = (watch_id: string, due_at: number | null = 1_000, next_at: number | null = 61_000) => ({
  key: null,
  attempt: null,
  watch: { watch_id, due_at, next_at },
});
const captured = (
  db: Db,
  watch_id: string,
  job_id: string,
  status: "completed" | "failed",
  at = 5,
) => db.jobs.insert(jobRow({ job_id, watch_id, status, created_at: at, finished_at: at + 1 }));
const completed = {
  status: "completed" as const,
  at: 9,
  changed: null,
  changes: null,
  failed: false,
  is_baseline: true,
  last_error: null,
};

eachDialect((open) => {
  test("a watch is stored as it was given, and no more of them than there may be", async () => {
    const { watches } = await open();
    expect(await watches.insert(watch("a"), 2)).toBe(true);
    expect(await watches.insert(watch("b", { created_at: 0 }), 2)).toBe(true);
    expect(await watches.insert(watch("c"), 2)).toBe(false);
    expect(await watches.get("a")).toEqual(watch("a"));
    expect((await watches.list()).map(({ watch_id }) => watch_id)).toEqual(["b", "a"]);
    expect([await watches.delete("a"), await watches.delete("a")]).toEqual([true, false]);
  });

  test("of two changes of one state, one is made", async () => {
    const { watches } = await open();
    await watches.insert(watch("a"), 9);
    const both = await Promise.all([
      watches.change("a", 1, { name: "x", updated_at: 2 }),
      watches.change("a", 1, { name: "y", updated_at: 2 }),
    ]);
    expect(both.filter(Boolean)).toHaveLength(1);
    expect(await watches.change("a", 1, { name: "z", updated_at: 3 })).toBeNull();
  });

  test("of several jobs for one time one is stored, and the time moves on with it", async () => {
    const db = await open();
    await db.watches.insert(watch("a"), 9);
    const rows = [1, 2, 3, 4].map(() => jobRow({ watch_id: "a" }));
    const stored = await Promise.all(rows.map((row) => db.jobs.insertWith(row, due("a"))));
    expect(stored.filter(Boolean)).toHaveLength(1);
    const made = rows[stored.indexOf(true)]?.job_id as string;
    expect(await db.watches.get("a")).toMatchObject({ next_at: 61_000, capturing: made });
    expect((await db.jobs.list({ watch: "a", limit: 9 }, null)).map((j) => j.job_id)).toEqual([
      made,
    ]);
    // Neither on request nor for the next time, while it is under way.
    expect(await db.jobs.insertWith(jobRow(), due("a", null))).toBe(false);
    expect(await db.jobs.insertWith(jobRow(), due("a", 61_000))).toBe(false);
    expect(await db.jobs.insertWith(jobRow(), due("gone"))).toBe(false);
  });

  test("one that is asked for leaves the schedule alone", async () => {
    const db = await open();
    await db.watches.insert(watch("a", { paused: true, next_at: null }), 9);
    const row = jobRow({ watch_id: "a" });
    expect(await db.jobs.insertWith(row, due("a", null, 5))).toBe(true);
    expect(await db.watches.get("a")).toMatchObject({ next_at: null, capturing: row.job_id });
  });

  test("a time passes once without a capture", async () => {
    const { watches } = await open();
    await watches.insert(watch("a"), 9);
    const left = { next_at: 2_000, last_error: "no engine" };
    const all = await Promise.all([1, 2].map(() => watches.pass("a", 1_000, left)));
    expect(all.filter(Boolean)).toHaveLength(1);
    expect(await watches.get("a")).toMatchObject(left);
  });

  test("one hub takes a capture until its time is up, and what two have decided is stored once", async () => {
    const db = await open();
    await db.watches.insert(watch("a", { capturing: "j1" }), 9);
    await captured(db, "a", "j1", "completed");
    const taken = await Promise.all([1, 2, 3].map(() => db.watches.take("a", "j1", 10, 20)));
    expect(taken.filter(Boolean)).toHaveLength(1);
    expect(await db.watches.take("a", "j1", 19, 30)).toBeNull();
    expect(await db.watches.take("a", "j1", 20, 30)).not.toBeNull();
    const changes = {
      against: "j0",
      parts: ["text" as const],
      text: { added: 1, removed: 0 },
      title: { changed: false, before: null, after: null },
      status: { changed: false, before: 200, after: 200 },
      assets: { new: 0, gone: 0, changed: 0 },
    };
    const yes = { ...completed, changed: true, changes };
    const [one, two] = await Promise.all([
      db.watches.settle("a", "j1", yes),
      db.watches.settle("a", "j1", yes),
    ]);
    expect([one, two].filter(Boolean)).toHaveLength(1);
    expect(await db.watches.get("a")).toMatchObject({
      capturing: null,
      taken_until: 0,
      baseline: "j1",
      captures: 1,
      changes: 1,
      last_job_id: "j1",
      last_status: "completed",
      last_at: 9,
      last_changed: true,
      changed_job_id: "j1",
      changed_at: 9,
    });
    expect(await db.jobs.get("j1")).toMatchObject({ changed: true, changes });
    const ids = async (changed: boolean) =>
      (await db.jobs.list({ changed, limit: 9 }, null)).map(({ job_id }) => job_id);
    expect([await ids(true), await ids(false)]).toEqual([["j1"], []]);
  });

  test("failures are counted in a row and leave the baseline alone; one that is cancelled counts for nothing", async () => {
    const db = await open();
    await db.watches.insert(watch("a", { capturing: "j1", baseline: "j0" }), 9);
    const failed = { ...completed, status: "failed" as const, failed: true, is_baseline: false };
    const settle = async (outcome: Parameters<typeof db.watches.settle>[2]) => {
      await db.jobs.insertWith(jobRow({ job_id: "j1" }), due("a", null)).catch(() => {});
      return db.watches.settle("a", "j1", outcome);
    };
    expect(await settle({ ...failed, at: 7, last_error: "no page" })).toMatchObject({
      failures: 1,
      failing_since: 7,
      baseline: "j0",
      last_error: "no page",
      captures: 0,
    });
    await db.jobs.insertWith(jobRow({ job_id: "j2" }), due("a", null));
    expect(await db.watches.settle("a", "j2", { ...failed, at: 8 })).toMatchObject({
      failures: 2,
      failing_since: 7,
    });
    await db.jobs.insertWith(jobRow({ job_id: "j3" }), due("a", null));
    const cancelled = { ...failed, status: "cancelled" as const, failed: null };
    expect(await db.watches.settle("a", "j3", cancelled)).toMatchObject({ failures: 2 });
    await db.jobs.insertWith(jobRow({ job_id: "j4" }), due("a", null));
    expect(await db.watches.settle("a", "j4", completed)).toMatchObject({
      failures: 0,
      failing_since: null,
      baseline: "j4",
    });
  });

  test("a capture of another page than the watch has by now is no baseline (rules/watches#another-page)", async () => {
    const db = await open();
    await db.watches.insert(watch("a", { capturing: "j1", baseline: "j0" }), 9);
    await captured(db, "a", "j1", "completed");
    await db.watches.change("a", 1, { url: "http://other.test/", baseline: null, updated_at: 2 });
    expect(await db.watches.settle("a", "j1", completed)).toMatchObject({
      baseline: null,
      last_job_id: "j1",
      captures: 1,
    });
  });

  test("what is pending says what became of the capture; one whose job is gone is let go", async () => {
    const db = await open();
    await db.watches.insert(watch("a", { capturing: "j1" }), 9);
    await db.watches.insert(watch("b", { capturing: "gone", next_at: null }), 9);
    await db.watches.insert(watch("c", { next_at: null }), 9);
    await captured(db, "a", "j1", "failed");
    const all = (await db.watches.pending()).toSorted((x, y) => (x.watch_id < y.watch_id ? -1 : 1));
    expect(all).toEqual([
      { watch_id: "a", next_at: 1_000, capturing: "j1", job_status: "failed", finished_at: 6 },
      { watch_id: "b", next_at: null, capturing: "gone", job_status: null, finished_at: null },
    ]);
    expect(await db.watches.settle("b", "gone", null)).toMatchObject({
      capturing: null,
      last_job_id: null,
      captures: 0,
    });
  });

  test("beyond those to be kept are the oldest, completed and failed ones counted apart, never the baseline", async () => {
    const db = await open();
    await db.watches.insert(watch("a", { baseline: "c1" }), 9);
    for (const n of [1, 2, 3, 4]) await captured(db, "a", `c${n}`, "completed", n);
    for (const n of [5, 6, 7]) await captured(db, "a", `f${n}`, "failed", n);
    expect((await db.watches.beyond("a", 2, 50)).toSorted()).toEqual(["c2", "f5"]);
    expect(await db.watches.beyond("a", 9, 50)).toEqual([]);
  });

  test("retention leaves the baseline of a watch (rules/watches#retention)", async () => {
    const db = await open();
    await db.watches.insert(watch("a", { baseline: "j1" }), 9);
    await captured(db, "a", "j1", "completed");
    await captured(db, "a", "j2", "completed");
    const old = await db.jobs.oldestEnded({ ended_before: 100, limit: 9 });
    expect(old.map(({ job_id }) => job_id)).toEqual(["j2"]);
  });
});
