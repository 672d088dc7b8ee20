import { expect, test } from "bun:test";
import { readFirstRun, showsPath } from "#hub/ui/client/home/first-run.ts";
import { forecastText, runningText, slugOf } from "#hub/ui/client/home/home-words.ts";
import { problemsOf } from "#hub/ui/client/home/problems.ts";
import { bucketText, rangeOf } from "#hub/ui/client/home/ranges.ts";
import type { FleetProblem } from "#shared/protocol/schema/figures.ts";

/** What Home says, apart from how it looks (rules/web-app#home). */

const NOTHING = { capture: false, session: false, tasks: false, engine: false };
const fresh = readFirstRun(null);

test("the path is shown while nothing exists, then until all is done or left out (rules/web-app#first-run)", () => {
  expect(showsPath(fresh, NOTHING)).toBe(true);
  // An installation that is used has no need of it.
  expect(showsPath(fresh, { ...NOTHING, capture: true })).toBe(false);
  const on = { ...fresh, path: "on" as const };
  expect(showsPath(on, { ...NOTHING, capture: true })).toBe(true);
  expect(showsPath(on, { capture: true, session: true, tasks: true, engine: true })).toBe(false);
  const left_out = { ...on, skipped: ["engine" as const] };
  expect(showsPath(left_out, { capture: true, session: true, tasks: true, engine: false })).toBe(
    false,
  );
  expect(showsPath({ ...fresh, path: "hidden" }, NOTHING)).toBe(false);
  // An engine may come with the configuration, and a control plane has one step.
  expect(showsPath(fresh, { ...NOTHING, engine: true })).toBe(true);
  expect(showsPath(fresh, { tasks: false })).toBe(true);
});

test("what is remembered in the browser is not believed", () => {
  for (const stored of ["", "no", "[]", "null", '{"path":7,"skipped":"all"}'])
    expect(readFirstRun(stored)).toEqual({ path: "unseen", skipped: [] });
  expect(readFirstRun('{"path":"on","skipped":["engine","<img>"]}')).toEqual({
    path: "on",
    skipped: ["engine"],
  });
});

test("the range of the address is one of four", () => {
  expect(["1h", "7d", "9d", ""].map(rangeOf)).toEqual(["1h", "7d", "24h", "24h"]);
  expect([120, 900, 3_600, 21_600].map(bucketText)).toEqual([
    "2 minutes",
    "15 minutes",
    "hour",
    "6 hours",
  ]);
});

const fleet = (kind: FleetProblem["kind"], fields: Partial<FleetProblem> = {}): FleetProblem => ({
  kind,
  severity: "bad",
  subject: "x",
  detail: "why",
  since: null,
  url: null,
  ...fields,
});
const depths = { pending: 0, claimed: 0, failed: 0, oldest_pending_s: null, done_per_min: 0 };

test("problems of both halves come with the one thing that helps, the worst first (rules/web-app#home)", () => {
  const since = "2026-03-01T09:12:00.000Z";
  const found = problemsOf(
    [
      fleet("worker_disk", { severity: "warn", subject: "w14" }),
      fleet("login_needed", { subject: "shop.test", url: "https://shop.test/list" }),
      fleet("workers_paused", { subject: "w3" }),
    ],
    {
      problems: [
        {
          workload: "thumbs",
          kind: "broken_executor",
          message: "no module named x",
          since,
          workers: ["a"],
        },
      ],
      supervised: [],
      queue_depths: [{ ...depths, workload: "thumbs", pending: 1_284 }],
    },
  );
  expect(found.map(({ title, note, action }) => [title, note, action])).toEqual([
    [
      "Workload thumbs is broken",
      "1,284 tasks wait",
      { label: "See traceback", href: expect.stringContaining("thumbs") },
    ],
    ["shop.test asks for a login", null, { label: "Take over", drive: "https://shop.test/list" }],
    ["No browser worker takes captures", null, { label: "Make w3 active", activate: "w3" }],
    [
      "Worker w14 runs out of disk",
      null,
      { label: "See the worker", href: expect.stringContaining("w14") },
    ],
  ]);
  expect(found[0]?.since).toBe(since);
});

test("every kind of problem has a title and an action, and a workload is told of once", () => {
  const kinds = [
    ...(["login_needed", "host_failing", "no_worker", "workers_paused", "worker_gone"] as const),
    ...(["worker_disk", "lanes_out", "hub_disk", "store", "retention", "queue_waits"] as const),
  ];
  const all = problemsOf(
    kinds.flatMap((kind) => [fleet(kind), fleet(kind, { subject: null })]),
    undefined,
  );
  expect(all).toHaveLength(22);
  for (const { title, action } of all) {
    expect(title).not.toContain("null");
    expect(action.label.length).toBeGreaterThan(3);
  }
  const supervised = { workload: "thumbs", paused_at: "2026-03-01T09:12:00.000Z", problem: null };
  const twice = problemsOf([], {
    problems: [
      {
        workload: "thumbs",
        kind: "broken_executor",
        message: "m",
        since: "2026-03-01T09:12:00.000Z",
        workers: ["a"],
      },
    ],
    supervised: [{ ...supervised, reason: "many failures" } as never],
    queue_depths: [],
  });
  expect(twice.map(({ title }) => title)).toEqual(["Workload thumbs is broken"]);
});

const storage = {
  kinds: [],
  free_bytes: null,
  size_bytes: null,
  reserve_bytes: null,
  bytes_per_day: 2_000_000_000,
  full_at: null,
  retention_days: 0,
};

test("how long there is room is told as far as anybody can know (rules/figures#storage)", () => {
  const now = Date.parse("2026-03-01T00:00:00Z");
  const inDays = (days: number) => new Date(now + days * 86_400_000).toISOString();
  const told = (fields: object) => forecastText({ ...storage, ...fields }, now);
  expect(told({})).toBe("Kept for ever. 2.0 GB a day.");
  expect(told({ bytes_per_day: 0 })).toBe("Kept for ever. Nothing came in the last week.");
  expect(told({ retention_days: 30, full_at: inDays(77) })).toBe(
    "Kept for 30 days. At 2.0 GB a day, full in 11 weeks.",
  );
  expect(told({ full_at: inDays(5) })).toContain("full in 5 days");
  expect(told({ full_at: inDays(0.2) })).toContain("full in 5 h");
  expect(told({ full_at: inDays(-1) })).toContain("full in 1 h");
});

test("how long a lane is busy is a clock, and an engine has a slug of its model", () => {
  expect([42_000, 190_000, 3_729_000, -5].map(runningText)).toEqual([
    "0:42",
    "3:10",
    "1:02:09",
    "0:00",
  ]);
  expect(["Qwen3:8b", "org/Model.v2", "///", "x".repeat(90)].map(slugOf)).toEqual([
    "qwen3-8b",
    "org-model-v2",
    "engine",
    "x".repeat(40),
  ]);
});

test("workloads whose runs fail or whose tasks wait come after what stops (rules/web-app#home)", () => {
  const state = (slug: string, weight: number, problems: string[]) =>
    ({ slug, weight, problems }) as never;
  const found = problemsOf(
    [fleet("queue_waits", { severity: "warn" })],
    { problems: [], supervised: [], queue_depths: [] },
    [
      state("fails", 300, ["100 % of the last 4 runs failed"]),
      state("waits", 55, ["a ready task has waited for 8 min"]),
      state("well", 0, []),
    ],
  );
  expect(found.map(({ title, severity }) => `${severity} ${title}`)).toEqual([
    "bad Workload fails needs attention",
    "warn Workload waits needs attention",
    "warn Captures have been waiting a long time",
  ]);
  expect(found[0]?.detail).toBe("100 % of the last 4 runs failed");
});
