import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import {
  createExecutorRig,
  type ExecutorRig,
  outcomesOf,
  task,
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
      ...{ kind: "failed", outcome: "error" },
      error: expect.stringContaining("the output is no JSON"),
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
    { outcome: "error", error: "TypeError: the output is no JSON: it is a function" },
    { outcome: "error", error: "TypeError: the output is no JSON: it is a symbol" },
    { outcome: "error", error: expect.stringContaining("BigInt") },
    { kind: "done", output: null },
  ]);
});

test("a task that returns in the moments it is given to stop in is still a timeout", async () => {
  const python = await rig.python(`
def run(pk, extra, ctx):
    if pk == "late": ctx.cancelled.wait()
    return "made it"
`);
  const bun = await rig.bun(`
export default async ({ pk }, ctx) => {
  if (pk === "late") await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
  return "made it";
};`);
  for (const executor of [python, bun]) {
    const ends = await rig.run(executor, [task("late"), task("next")], { timeout_ms: 200 });
    expect(outcomesOf(ends)).toMatchObject([
      { outcome: "timeout", error: "the task did not end within 0.2 s" },
      { kind: "done", output: "made it" },
    ]);
  }
});
