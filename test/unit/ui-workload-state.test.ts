import { expect, test } from "bun:test";
import { problemsOf } from "#hub/ui/client/home/problems.ts";
import { shownNow } from "#hub/ui/client/pipeline/flow-graph/model.ts";
import { statesOf } from "#hub/ui/client/pipeline/overview/problems.ts";
import { type Seen, stateOf, unservedOf } from "#hub/ui/client/pipeline/workload/state.ts";
import type { DashboardOverview, FlowNode } from "#shared/protocol/schema/flow.ts";

/** One state of a workload in the list, on its page, in the flow and among the problems (rules/web-app#states). */

const worker = (state: "active" | "draining" | "offline", ...workloads: string[]) => ({
  state,
  workloads,
});
const list = (...workers: ReturnType<typeof worker>[]) => ({ workers, next_cursor: null });
const seen = (told: Partial<Seen> = {}): Seen => ({
  overview: undefined,
  summary: undefined,
  workers: list(worker("active", "a")),
  ...told,
});
const supervised = (fields: object) =>
  ({ supervised: [{ workload: "a", paused_at: null, problem: null, ...fields }] }) as never;
const known = { slug: "a", enabled: true, broken: false, running: 0 };
const node = (stats: FlowNode["stats"]): FlowNode => ({
  id: "workload:a",
  kind: "workload",
  label: "A",
  position: { x: 0, y: 0 },
  stats,
});

test("no worker for it: none that is on takes its tasks, whether or not anybody supervises it", () => {
  const word = (...workers: ReturnType<typeof worker>[]) =>
    stateOf(known, seen({ workers: list(...workers) })).word;
  expect(word()).toBe("No worker for it");
  expect(word(worker("active", "b"), worker("offline", "a"), worker("draining", "a"))).toBe(
    "No worker for it",
  );
  expect(word(worker("active", "a", "b"))).toBe("Idle");
});

test("what has not been read, or not all of it, is no reason to say so", () => {
  expect(stateOf(known, seen({ workers: undefined })).word).toBe("Idle");
  const more = { workers: [worker("active", "b")], next_cursor: "b" };
  expect(stateOf(known, seen({ workers: more })).word).toBe("Idle");
});

test("a workload that its supervisor paused is paused, and one that is off needs no worker", () => {
  const off = { ...known, enabled: false };
  const paused_at = "2026-11-01T10:00:00.000Z";
  expect(stateOf(off, seen({ overview: supervised({ paused_at }) })).word).toBe("Paused");
  expect(stateOf(off, seen({ workers: list() })).word).toBe("Off");
});

test("the flow says of a workload what its list says, by its last runs and not by its rates", () => {
  const runs = { workloads: [{ slug: "a", runs: [], success_rate: 0.5 }] };
  const shown = (stats: FlowNode["stats"], told: Partial<Seen> = {}) => {
    const { health, state } = shownNow(node(stats), seen(told));
    return [health, state];
  };
  expect(shown({ executor: "broken", executor_error: "x" })).toEqual(["bad", "Broken"]);
  expect(shown({ pending: 4 }, { workers: list() })).toEqual(["warn", "No worker for it"]);
  // A worker may run it and has not begun yet.
  expect(shown({ pending: 4 })).toEqual(["off", "Idle"]);
  expect(shown({ claimed: 1 })).toEqual(["plain", "Running"]);
  expect(shown({ failed_per_min: 3 }, { summary: runs })).toEqual(["bad", "Failing · 50 %"]);
  expect(shown({ state: "disabled" })).toEqual(["off", "Off"]);
});

test("Home names a workload that nobody may run once tasks wait for it, unless it is off", () => {
  const depth = { claimed: 0, failed: 0, oldest_pending_s: null, done_per_min: 0 };
  const overview = (...of: [string, number][]) =>
    ({
      queue_depths: of.map(([workload, pending]) => ({ ...depth, workload, pending })),
      problems: [],
      supervised: [],
    }) as unknown as DashboardOverview;
  const told = overview(["a", 4], ["empty", 0], ["off", 9]);
  const workloads = ["a", "empty", "off"].map((slug) => ({ slug, enabled: slug !== "off" }));
  const states = statesOf(told, undefined, undefined, unservedOf(workloads, list()));
  expect(problemsOf([], told, states).map(({ title, detail }) => [title, detail])).toEqual([
    ["Workload a does not run", "no live worker may run it"],
  ]);
});
