import { expect, test } from "bun:test";
import { type RunFilter, searchRuns } from "#hub/pipeline/tasks/search-runs.ts";

/** Finding runs among many without looking at all of them in one statement (rules/pipeline-runs#search-runs). */

const COUNT = 100_000;
const HOUR = 3_600_000;
/** Ids with gaps, one run a second; every 30,000th failed at another worker. */
const ALL = Array.from({ length: COUNT }, (_, i) => ({
  run_id: 3 + i * 2,
  finished_at: i * 1_000,
  worker_id: i % 30_000 === 0 ? "w2" : "w1",
}));
type Fake = (typeof ALL)[number];

function rig() {
  const widths: number[] = [];
  const runs = {
    newest: async () => ALL.at(-1)?.run_id,
    at: async (id: number) => ALL[Math.max(0, Math.ceil((id - 3) / 2))] ?? null,
    list: async ({
      before = Number.POSITIVE_INFINITY,
      from = 0,
      ...f
    }: RunFilter & { from?: number }) => {
      widths.push(before - from);
      const matches = (run: Fake) =>
        run.run_id < before &&
        run.run_id >= from &&
        (f.worker_id === undefined || run.worker_id === f.worker_id) &&
        (f.since === undefined || run.finished_at >= f.since) &&
        (f.until === undefined || run.finished_at < f.until);
      return ALL.filter(matches).reverse().slice(0, f.limit);
    },
  };
  let now = 0;
  const ctx = { db: { runs }, clock: { monotonic: () => now } } as never;
  const pass = (ms: number): void => {
    now += ms;
  };
  return { ctx, widths, pass, runs };
}
const idsOf = ({ rows }: { rows: { run_id: number }[] }) => rows.map(({ run_id }) => run_id);

test("what no index serves is looked for in bounded pieces, to the end (rules/pipeline-runs#search-runs)", async () => {
  const { ctx, widths } = rig();
  const page = await searchRuns(ctx, { worker_id: "w2", limit: 50 });
  expect(idsOf(page)).toEqual([180_003, 120_003, 60_003, 3]);
  expect(page.next_before).toBeNull();
  expect(Math.max(...widths)).toBeLessThanOrEqual(20_000);
});

test("pages follow each other without a gap or a run twice (rules/pipeline-runs#search-runs)", async () => {
  const { ctx } = rig();
  const found: number[] = [];
  let before: number | undefined;
  for (let n = 0; n < 10; n += 1) {
    const page = await searchRuns(ctx, { worker_id: "w2", limit: 1, before });
    found.push(...idsOf(page));
    if (page.next_before === null) break;
    before = page.next_before;
  }
  expect(found).toEqual([180_003, 120_003, 60_003, 3]);
});

test("a search that takes long answers with what it has and where to go on (rules/pipeline-runs#search-runs)", async () => {
  const { ctx, pass, runs } = rig();
  const { list } = runs;
  runs.list = async (filter) => {
    pass(300);
    return list(filter);
  };
  const page = await searchRuns(ctx, { worker_id: "nobody", limit: 50 });
  expect(page).toEqual({ rows: [], next_before: 160_002 });
});

test("a time is found by bisecting: runs outside of it are not looked at (rules/pipeline-runs#search-runs)", async () => {
  const { ctx, widths } = rig();
  const page = await searchRuns(ctx, { since: 10 * HOUR, until: 10 * HOUR + 5_000, limit: 50 });
  expect(idsOf(page)).toEqual([4, 3, 2, 1, 0].map((s) => 3 + (36_000 + s) * 2));
  expect(page.next_before).toBeNull();
  expect(widths.reduce((a, b) => a + b, 0)).toBeLessThan(500);
});
