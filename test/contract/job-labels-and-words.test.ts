import { describe, expect, test } from "bun:test";
import type { JobRow } from "#hub/platform/db/rows.ts";
import type { Db } from "#hub/platform/db/storage.ts";
import { eachDialect, jobRow } from "#test/support/servers/db.ts";
import { END, running, times } from "#test/support/servers/stored-jobs.ts";

const stored = async (db: Db, fields: Partial<JobRow>): Promise<JobRow> => {
  const row = jobRow(fields);
  expect(await db.jobs.insertWith(row, { key: null, attempt: null })).toBe(true);
  return row;
};

const ended = async (
  db: Db,
  fields: Partial<JobRow>,
  end: Partial<Parameters<Db["jobs"]["finish"]>[2]> = {},
): Promise<JobRow> => {
  const row = await running(db, 1, fields);
  const done = await db.jobs.finish(row.job_id, 1, { ...END, ...end });
  if (!done) throw new Error("the job did not end");
  return done;
};

eachDialect((open) => {
  const idsOf = (rows: JobRow[]) => rows.map(({ job_id }) => job_id);
  const labelled = async (db: Db, ...label: { key: string; value: string | null }[]) =>
    idsOf(await db.jobs.list({ limit: 50, label }, null));
  const withWords = async (db: Db, words: string) =>
    idsOf(await db.jobs.list({ limit: 50, words }, null));

  describe("labels of jobs (rules/labels#find-by-label)", () => {
    test("a list of a label has the jobs with that value, or with any, newest first", async () => {
      const db = await open();
      const a = await stored(db, { labels: { team: "growth" } });
      const b = await stored(db, { labels: { env: "prod", team: "ops" } });
      await stored(db, {});
      const c = await stored(db, { labels: { env: "prod", team: "growth" } });
      const growth = { key: "team", value: "growth" };
      expect(await labelled(db, growth)).toEqual([c.job_id, a.job_id]);
      expect(await labelled(db, { key: "team", value: null })).toEqual(idsOf([c, b, a]));
      expect(await labelled(db, growth, { key: "env", value: "prod" })).toEqual([c.job_id]);
      expect(await labelled(db, { key: "team", value: "grow" })).toEqual([]);
    });

    test("its pages stay put, and it is narrowed by other filters", async () => {
      const db = await open();
      const rows: JobRow[] = [];
      for (const i of times(7))
        rows.push(
          await stored(db, { labels: { team: "a" }, host: i % 2 ? "x" : "y", created_at: 5 }),
        );
      const label = [{ key: "team", value: "a" }];
      const first = await db.jobs.list({ limit: 4, label }, null);
      const last = first.at(-1) as JobRow;
      const rest = await db.jobs.list({ limit: 4, label }, last);
      expect([...idsOf(first), ...idsOf(rest)]).toEqual(idsOf(rows).reverse());
      expect(await db.jobs.list({ limit: 9, label, host: "x" }, null)).toHaveLength(3);
      expect(await db.jobs.count({ limit: 9, label, host: "y" })).toBe(4);
      expect(await db.jobs.count({ limit: 2, host: "y" })).toBe(2);
    });

    test("of two changes that began with the same labels one is refused", async () => {
      const db = await open();
      const row = await stored(db, { labels: { team: "a" } });
      const tries = await Promise.all([
        db.jobs.replaceLabels(row, { team: "b" }),
        db.jobs.replaceLabels(row, { env: "c" }),
      ]);
      expect(tries.filter(Boolean)).toHaveLength(1);
      const now = (await db.jobs.get(row.job_id))?.labels ?? {};
      const [key = "", value = ""] = Object.entries(now)[0] ?? [];
      expect(await labelled(db, { key, value })).toEqual([row.job_id]);
      expect(await labelled(db, { key: "team", value: "a" })).toEqual([]);
      expect(await db.jobs.replaceLabels({ ...row, labels: now }, null)).toBe(true);
      expect(await labelled(db, { key, value: null })).toEqual([]);
      expect((await db.jobs.get(row.job_id))?.labels).toBeNull();
    });

    test("they are gone with the job", async () => {
      const db = await open();
      const { job_id } = await ended(db, { title: null });
      const row = (await db.jobs.get(job_id)) as JobRow;
      await db.jobs.replaceLabels(row, { team: "a" });
      expect(await withWords(db, "team")).toEqual([job_id]);
      expect(await db.jobs.deleteTerminal(job_id)).toBe(true);
      expect(await labelled(db, { key: "team", value: null })).toEqual([]);
      expect(await withWords(db, "team")).toEqual([]);
    });
  });

  describe("words of jobs (rules/search#words)", () => {
    test("an ended job is found by words of its title, URL, error and labels, in any order", async () => {
      const db = await open();
      const url = "https://shop.example.com/orders/4711?page=2";
      const a = await ended(db, { url }, { title: "Invoice overview, März" });
      const b = await ended(db, {}, { status: "failed", error: "net::ERR_NAME_NOT_RESOLVED" });
      expect(await withWords(db, "overview invoice")).toEqual([a.job_id]);
      expect(await withWords(db, "INV")).toEqual([a.job_id]);
      expect(await withWords(db, "märz")).toEqual([a.job_id]);
      expect(await withWords(db, "shop 4711")).toEqual([a.job_id]);
      expect(await withWords(db, "shop.example.com/orders")).toEqual([a.job_id]);
      expect(await withWords(db, "name_not resolved")).toEqual([b.job_id]);
      expect(await withWords(db, "invoice refund")).toEqual([]);
      expect(await withWords(db, "voice")).toEqual([]);
    });

    test("each of many that ended before a search is found, with the labels of the moment, and a deleted one is not", async () => {
      const db = await open();
      const rows: JobRow[] = [];
      for (const i of times(450)) rows.push(await ended(db, {}, { title: `sheet ${i}` }));
      const [first, second] = rows as [JobRow, JobRow];
      expect(await db.jobs.deleteTerminal(first.job_id)).toBe(true);
      expect(await db.jobs.replaceLabels(second, { team: "growth" })).toBe(true);
      expect(await db.jobs.count({ words: "sheet" })).toBe(449);
      expect(await withWords(db, "sheet growth")).toEqual([second.job_id]);
      await db.jobs.indexWords();
      expect(await db.jobs.count({ words: "sheet" })).toBe(449);
    });

    test("a job that is queued or runs is found by its URL and labels", async () => {
      const db = await open();
      const a = await stored(db, { url: "https://news.example.com/", labels: { team: "growth" } });
      const b = await running(db, 1, { url: "https://news.example.com/b" });
      expect(await withWords(db, "news")).toEqual([b.job_id, a.job_id]);
      expect(await withWords(db, "news growth")).toEqual([a.job_id]);
      await db.jobs.finish(b.job_id, 1, { ...END, title: "Headlines" });
      expect(await withWords(db, "news headlines")).toEqual([b.job_id]);
    });

    test("what is no word, and what both index languages would read as syntax, is harmless", async () => {
      const db = await open();
      await ended(db, {}, { title: "plain words" });
      for (const text of ["***", '"', "' or 1=1 --", "a AND (b", "words:", "!words | x", "100% _"])
        await withWords(db, text);
      expect(await withWords(db, '"plain" -words*')).toHaveLength(1);
      expect(await withWords(db, "---")).toEqual([]);
    });
  });
});
