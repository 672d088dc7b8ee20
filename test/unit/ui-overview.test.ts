import { describe, expect, test } from "bun:test";
import { statesOf } from "#hub/ui/client/pipeline/overview/problems.ts";
import type { DashboardOverview, FlowRates, RunsSummary } from "#shared/protocol/schema/flow.ts";

/** What the overview of the pipeline says is wrong (rules/pipeline-views#dashboard-overview). */

const depth = (workload: string, fields: object = {}) => ({
  workload,
  pending: 0,
  claimed: 0,
  failed: 0,
  oldest_pending_s: null,
  done_per_min: 0,
  ...fields,
});
const overview = (
  queue_depths: object[],
  fields: Partial<Record<"problems" | "supervised", object[]>> = {},
) => ({ queue_depths, problems: [], supervised: [], ...fields }) as unknown as DashboardOverview;
const runs = (slug: string, success_rate: number | null, n = 20) =>
  ({ workloads: [{ slug, success_rate, runs: Array(n).fill(true) }] }) as unknown as RunsSummary;
const rates = (slug: string, metric: string, counts: number[]) =>
  ({
    series: [{ slug, metric, points: counts.map((n, i) => [i * 60_000, n]) }],
  }) as unknown as FlowRates;

/** Problems of the only workload. */
function problemsOf(...given: Parameters<typeof statesOf>): string[] {
  return statesOf(...given)[0]?.problems ?? [];
}

test("a workload about which nothing is known is well", () => {
  const [state] = statesOf(overview([depth("a")]), undefined, undefined);
  expect(state).toMatchObject({ slug: "a", weight: 0, problems: [], runs: [], success_rate: null });
});

describe("a workload is in trouble", () => {
  test("when more than a fifth of its last runs failed", () => {
    const with_rate = (rate: number | null) =>
      problemsOf(overview([depth("a")]), runs("a", rate), undefined);
    expect([with_rate(0.8), with_rate(null), with_rate(1)]).toEqual([[], [], []]);
    expect(with_rate(0.79)).toEqual(["21 % of the last 20 runs failed"]);
    expect(with_rate(0)).toEqual(["100 % of the last 20 runs failed"]);
  });

  test("when a ready task waits longer than five minutes", () => {
    const waiting = (oldest_pending_s: number) =>
      problemsOf(overview([depth("a", { oldest_pending_s })]), undefined, undefined);
    expect([waiting(300), waiting(301)]).toEqual([[], ["a ready task has waited for 5 min"]]);
  });

  test("when leases expired within the hour", () => {
    const expired = (counts: number[]) =>
      problemsOf(overview([depth("a")]), undefined, rates("a", "expired", counts));
    expect([expired([0, 0]), expired([2, 0, 1])]).toEqual([
      [],
      ["3 leases expired in the last hour"],
    ]);
  });

  test("when its supervisor paused it or sees why it does not run", () => {
    const supervised = (fields: object) =>
      problemsOf(
        overview([depth("a")], {
          supervised: [{ workload: "a", paused_at: null, problem: null, ...fields }],
        }),
        undefined,
        undefined,
      );
    expect(supervised({})).toEqual([]);
    expect(supervised({ paused_at: "2026-01-01T00:00:00Z" })).toEqual(["paused by the supervisor"]);
    expect(supervised({ problem: "no_worker" })).toEqual(["no live worker may run it"]);
    // One that a later version knows.
    expect(supervised({ problem: "new_kind" })).toEqual(["new_kind"]);
  });

  test("when its code does not load, which is told once, with why", () => {
    const broken = { workload: "a", message: "No module named giraffe" };
    const supervised = { workload: "a", paused_at: null, problem: "broken_executor" };
    expect(
      problemsOf(
        overview([depth("a")], { problems: [broken], supervised: [supervised] }),
        undefined,
        undefined,
      ),
    ).toEqual(["No module named giraffe"]);
    expect(
      problemsOf(overview([depth("a")], { supervised: [supervised] }), undefined, undefined),
    ).toEqual(["its code does not load"]);
  });
});

test("the worst come first, then those in which most waits, then by name", () => {
  const all = overview(
    [
      depth("idle"),
      depth("also-idle"),
      depth("busy", { pending: 5 }),
      depth("late", { oldest_pending_s: 900 }),
      depth("broken"),
      depth("paused"),
    ],
    {
      problems: [{ workload: "broken", message: "x" }],
      supervised: [{ workload: "paused", paused_at: "2026-01-01T00:00:00Z", problem: null }],
    },
  );
  expect(statesOf(all, undefined, undefined).map(({ slug }) => slug)).toEqual([
    ...["paused", "broken", "late", "busy", "also-idle", "idle"],
  ]);
});

test("rates are of the hour, and of the last minute that is whole", () => {
  const [state] = statesOf(overview([depth("a")]), undefined, rates("a", "succeeded", [4, 7, 1]));
  expect([state?.hour, state?.minute]).toEqual([{ succeeded: 12 }, { succeeded: 7 }]);
  const [short] = statesOf(overview([depth("a")]), undefined, rates("a", "succeeded", [4]));
  expect(short?.minute).toEqual({ succeeded: 0 });
});
