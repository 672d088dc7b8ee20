import { describe, expect, test } from "bun:test";
import { stillExcluded } from "#hub/pipeline/pull/answer.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { BROKEN_MS, createBrokenExecutors } from "#worker/tasks/broken-executors.ts";

/** Code that does not load is tried again after a wait, and new settings at once (rules/pipeline-workloads#the-state-of-the-code). */

describe("a worker that could not load the code of a workload", () => {
  const made = () => {
    const clock = createFakeClock();
    const told: string[][] = [];
    const broken = createBrokenExecutors(clock, () =>
      told.push(broken.list().map(({ workload }) => workload)),
    );
    return { clock, told, broken };
  };

  test("waits twice as long after each try, and a minute at most", async () => {
    const { clock, broken } = made();
    for (const wait of [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]) {
      broken.mark("w", "r1", "no such module", "");
      await clock.advance(wait - 1);
      expect({ wait, excluded: broken.excluded() }).toEqual({ wait, excluded: ["w"] });
      await clock.advance(1);
      expect({ wait, excluded: broken.excluded() }).toEqual({ wait, excluded: [] });
    }
    expect(BROKEN_MS.most).toBe(60_000);
  });

  test("begins anew with new settings, and says so at once", async () => {
    const { clock, told, broken } = made();
    for (let n = 0; n < 8; n += 1) broken.mark("w", "r1", "no such module", "");
    expect(told).toEqual([["w"]]);
    broken.mark("w", "r2", "a syntax error", "");
    expect(told).toEqual([["w"], ["w"]]);
    expect(broken.list()).toMatchObject([
      { revision: "r2", error: "a syntax error", broken_ms: 0 },
    ]);
    await clock.advance(BROKEN_MS.first);
    expect(broken.excluded()).toEqual([]);
  });

  test("tells once that it loads", () => {
    const { told, broken } = made();
    broken.mark("w", "r1", "no such module", "");
    broken.clear("w");
    broken.clear("w");
    expect(told).toEqual([["w"], []]);
    expect([broken.excluded(), broken.list()]).toEqual([[], []]);
  });
});

describe("a workload that a worker leaves out", () => {
  const row = { workload_id: 7, updated_at: 100, executor_type: "command", executor_config: {} };
  const workloads = { bySlug: (slug: string) => (slug === "w" ? row : undefined) };
  const ctx = { pipeline: { workloads, plugins: {} } } as never;
  const excluded = (known: Record<string, string>, exclude = ["w"]) =>
    stillExcluded(ctx, { exclude, known });

  test("stays out while its settings are those that the worker has tried", () => {
    expect(excluded({ w: "7.100" })).toEqual(["w"]);
  });

  test("is given to it at once when its settings are others", () => {
    expect(excluded({ w: "7.99" })).toEqual([]);
  });

  test("stays out where the worker does not say what it has tried, and where it is unknown", () => {
    expect(excluded({})).toEqual(["w"]);
    expect(excluded({ gone: "1.1" }, ["gone"])).toEqual(["gone"]);
  });
});
