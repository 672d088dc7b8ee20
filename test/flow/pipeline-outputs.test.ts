import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { DEADLINE_MS } from "#test/support/fakes/task-clock.ts";
import {
  createExecutorRig,
  type ExecutorRig,
  outcomesOf,
  task,
  withTaskClock,
} from "#test/support/rigs/executor-rig.ts";

let rig: ExecutorRig;
beforeAll(async () => {
  rig = await createExecutorRig();
});
afterEach(() => rig.closeExecutors());
afterAll(() => rig.close());

test("a Python output that is no JSON is an error of its task, never turned into text (rules/pipeline-executors#outputs)", async () => {
  const executor = await rig.python(`
import datetime
class Odd: pass
OUTPUTS = {
    "date": datetime.date(2026, 1, 2), "set": {1}, "bytes": b"x", "object": Odd(), "nan": float("nan"),
    "inside": {"when": [datetime.datetime(2026, 1, 2)]}, "plain": {"n": [1, None, "a"]},
}
def run(pk): return OUTPUTS[pk]
`);
  const odd = ["date", "set", "bytes", "object", "nan", "inside"];
  const ends = await rig.run(
    executor,
    [...odd, "plain"].map((pk) => task(pk)),
  );
  for (const [i, pk] of odd.entries())
    expect(ends[i]?.outcome, pk).toMatchObject({
      kind: "failed",
      outcome: "error",
      error: expect.stringContaining("the output is not JSON"),
    });
  expect(ends.at(-1)?.outcome).toEqual({ kind: "done", output: { n: [1, null, "a"] } });
});

test("a TypeScript output that is a function or a symbol is an error of its task, and so is a BigInt", async () => {
  const executor = await rig.bun(`
export default ({ pk }) => ({ function: () => 1, symbol: Symbol("s"), bigint: 1n, nothing: undefined })[pk];
`);
  const ends = await rig.run(executor, [
    task("function"),
    task("symbol"),
    task("bigint"),
    task("nothing"),
  ]);
  expect(outcomesOf(ends)).toMatchObject([
    { outcome: "error", error: "TypeError: the output is not JSON: it is a function" },
    { outcome: "error", error: "TypeError: the output is not JSON: it is a symbol" },
    { outcome: "error", error: expect.stringContaining("BigInt") },
    { kind: "done", output: null },
  ]);
});

test("a task that returns in the moments it is given to stop in is still a timeout", async () => {
  await withTaskClock(async (slow, mark) => {
    const begun = JSON.stringify(mark("polite"));
    const python = await slow.python(`
def run(pk, extra, ctx):
    if pk == "late":
        open(${begun}, "w").close()
        ctx.cancelled.wait()
    return "made it"
`);
    const bun = await slow.bun(`
import { writeFileSync } from "node:fs";
export default async ({ pk }, ctx) => {
  if (pk === "late") await new Promise((resolve) => {
    ctx.signal.addEventListener("abort", resolve);
    writeFileSync(${begun}, "");
  });
  return "made it";
};`);
    for (const executor of [python, bun]) {
      const tasks = [task("late"), task("next")];
      const ends = await slow.run(executor, tasks, { timeout_ms: DEADLINE_MS });
      expect(outcomesOf(ends)).toMatchObject([
        { outcome: "timeout", error: "the task did not finish within the timeout of 0.234 s" },
        { kind: "done", output: "made it" },
      ]);
    }
  });
});
