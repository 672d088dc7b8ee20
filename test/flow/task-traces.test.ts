import { afterAll, beforeAll, expect, test } from "bun:test";
import { createExecutorRig, type ExecutorRig, task } from "#test/support/rigs/executor-rig.ts";

/** What a task knows of the trace that its attempt is part of (rules/spans#a-task). */

let rig: ExecutorRig;
beforeAll(async () => {
  rig = await createExecutorRig();
});
afterAll(() => rig.close());

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const told = { both: [traceparent, traceparent], context: traceparent };
const nothing = { both: [null, null], context: null };
const outputs = async (executor: Awaited<ReturnType<ExecutorRig["command"]>>) => {
  const tasks = [{ ...task("traced"), traceparent }, task("plain")];
  const ends = await rig.run(executor, tasks.slice(0, 1));
  ends.push(...(await rig.run(executor, tasks.slice(1))));
  return ends.map(({ outcome }) => (outcome.kind === "done" ? outcome.output : outcome));
};

test("a command has it in its environment, under both spellings", async () => {
  const names = '["\'"$TRACEPARENT"\'","\'"$traceparent"\'"]';
  const executor = await rig.command(["sh", "-c", `printf '%s' '${names}'`]);
  expect(await outputs(executor)).toEqual([
    [traceparent, traceparent],
    ["", ""],
  ]);
});

test("a Python module has it in its context and its environment, for that task alone", async () => {
  const executor = await rig.python(`
import os
def run(pk, extra, ctx):
    return {"both": [os.environ.get("TRACEPARENT"), os.environ.get("traceparent")], "context": ctx.traceparent}
`);
  expect(await outputs(executor)).toEqual([told, nothing]);
});

test("a TypeScript module has it in its context and its environment, for that task alone", async () => {
  const executor = await rig.bun(`
const of = (name: string) => process.env[name] ?? null;
export const run = (_: unknown, ctx: { traceparent: string | null }) =>
  ({ both: [of("TRACEPARENT"), of("traceparent")], context: ctx.traceparent });
`);
  expect(await outputs(executor)).toEqual([told, nothing]);
});
