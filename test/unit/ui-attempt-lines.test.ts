import { expect, test } from "bun:test";
import { linesOf, ranMs } from "#hub/ui/client/pipeline/run/attempt-lines.ts";
import type { QueueRow, RunAttempt, TaskHistory } from "#shared/protocol/schema/queue.ts";

/** The attempts of a task as its panel lists them (rules/web-app#what-is-known). */

const T0 = Date.parse("2026-11-01T10:00:00.000Z");
const at = (ms: number) => new Date(T0 + ms).toISOString();

const history = (attempts: object[], task: object | null): TaskHistory => ({
  workload: "thumbs",
  pk: "a",
  task: task as QueueRow | null,
  attempts: attempts as RunAttempt[],
});
const run = {
  run_id: 7,
  attempt: 1,
  outcome: "error",
  worker_id: "w1",
  started_at: at(1_000),
  finished_at: at(9_000),
  duration_ms: 2_500,
};

test("an attempt ran for what its worker measured, as in every list, and not from its claim to its report", () => {
  const [line] = linesOf(history([run], null), T0);
  expect(line && ranMs(line)).toBe(2_500);
  // Its bar stands on the scale of the queue.
  expect(line?.held).toEqual([T0 + 1_000, T0 + 9_000]);
});

test("an attempt that goes on has run since its claim, and what waits has not run", () => {
  const task = { created_at: at(0), run_at: at(0), attempt: 2, worker_id: "w1" };
  const claimed = { ...task, state: "claimed", claimed_at: at(12_000) };
  const [, now] = linesOf(history([run], claimed), T0 + 15_000);
  expect(now?.look.word).toBe("Running");
  expect(now).toMatchObject({ outcome: "running", attempt: 2, waited: [T0 + 9_000, T0 + 12_000] });
  expect(now && ranMs(now)).toBe(3_000);
  const pending = { ...task, state: "pending", claimed_at: null };
  const [, next] = linesOf(history([run], pending), T0 + 15_000);
  expect(next?.look.word).toBe("Ready");
  expect(next).toMatchObject({ outcome: "pending", attempt: 3 });
  expect(next && ranMs(next)).toBeNull();
});

test("a task that waits for its time is delayed, and one that failed has no attempt ahead", () => {
  const task = { created_at: at(0), run_at: at(60_000), attempt: 1, worker_id: null };
  const lines = (state: string) =>
    linesOf(history([run], { ...task, state, claimed_at: null }), T0 + 15_000);
  expect(lines("pending").map(({ look }) => look.word)).toEqual([
    "Failed",
    expect.stringMatching(/^Delayed until /),
  ]);
  expect(lines("failed")).toHaveLength(1);
});
