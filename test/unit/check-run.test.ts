import { describe, expect, test } from "bun:test";
import { CHECK_LIMITS, CheckRun } from "#shared/protocol/schema/executor.ts";
import { runCheckTask } from "#worker/tasks/check-run.ts";
import { type Executor, failed, type TaskEnd, type TaskOutcome } from "#worker/tasks/executor.ts";

/** What a worker tells of the task of a test (rules/pipeline-code#check-before-saving). */

const signal = new AbortController().signal;
const ending = (outcome: TaskOutcome, more: Partial<TaskEnd> = {}): Executor => ({
  run: async ([task], { onEnd }) => {
    if (!task) return;
    onEnd({
      task,
      outcome,
      duration_ms: 5,
      stdout: "",
      stderr: "",
      truncated: false,
      ...more,
    });
  },
  load: async () => {},
  close: async () => {},
});
const run = (executor: Executor) => runCheckTask(executor, { pk: "a", extra: null }, 100, signal);

describe("the task of a test", () => {
  test("gives its output, and null for none", async () => {
    expect(await run(ending({ kind: "done", output: { a: 1 } }))).toMatchObject({
      outcome: "success",
      error: null,
      output: { a: 1 },
      truncated: false,
      duration_ms: 5,
    });
    expect(await run(ending({ kind: "done", output: undefined }))).toMatchObject({ output: null });
  });

  test("says how it failed, and that it asked to run later", async () => {
    for (const outcome of ["error", "timeout", "crashed"] as const)
      expect(await run(ending(failed(outcome, "why")))).toMatchObject({ outcome, error: "why" });
    const later = failed("error", "not yet", { retry_after_ms: 0 });
    expect(await run(ending(later))).toMatchObject({ outcome: "snoozed", error: "not yet" });
    const stopped: TaskOutcome = {
      kind: "not_run",
      reason: "the worker is stopping",
      broken: false,
    };
    expect(await run(ending(stopped))).toMatchObject({
      outcome: "error",
      error: "the worker is stopping",
    });
  });

  test("is cut to what its answer may hold, the ends of streams kept", async () => {
    const long = `${"x".repeat(CHECK_LIMITS.stream)}the end`;
    const output = "y".repeat(CHECK_LIMITS.output);
    const told = await run(ending({ kind: "done", output }, { stdout: long, stderr: long }));
    expect(told.truncated).toBe(true);
    expect(told.stderr.endsWith("the end")).toBe(true);
    expect(CheckRun.parse(told)).toEqual(told);
    const error = "e".repeat(100_000);
    expect(CheckRun.parse(await run(ending(failed("error", error)))).error?.length).toBe(2_000);
  });

  test("tells its log without the times", async () => {
    const log = [{ ts: "2026-01-01T00:00:00.000Z", level: "warn" as const, text: "careful" }];
    const notes = { progress: null, log, log_dropped: 0, seq: 1 };
    expect((await run(ending({ kind: "done", output: 1 }, { notes }))).log).toEqual([
      { level: "warn", text: "careful" },
    ]);
  });

  test("that never ends by itself is an error of the executor", async () => {
    const silent: Executor = { run: async () => {}, load: async () => {}, close: async () => {} };
    await expect(run(silent)).rejects.toThrow("the task did not end");
  });
});
