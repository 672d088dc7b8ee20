import {
  afterAll,
  afterEach,
  beforeAll,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from "bun:test";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DEADLINE_MS } from "#test/support/fakes/task-clock.ts";
import {
  createExecutorRig,
  type ExecutorRig,
  outcomesOf,
  task,
  withTaskClock,
} from "#test/support/rigs/executor-rig.ts";

// Processes start slowly on a busy machine.
setDefaultTimeout(180_000);

let rig: ExecutorRig;
beforeAll(async () => {
  rig = await createExecutorRig();
});
afterEach(() => rig.closeExecutors());
afterAll(() => rig.close());

describe("bun_module (protocol wp-exec/1)", () => {
  test("runs tasks in one warm process and gives back output, stdout and stderr of each", async () => {
    const executor = await rig.bun(`
let calls = 0;
export default async function run({ pk, extra }: { pk: string; extra: { n: number } }, ctx: any) {
  calls += 1;
  console.log("out", pk);
  process.stdout.write("more\\n");
  console.error("err", ctx.attempt);
  return { pk, n: extra.n * 2, calls, be: process.env.BUN_BE_BUN ?? null };
}`);
    const [first] = await rig.run(executor, [task("a", { n: 1 })]);
    const [second] = await rig.run(executor, [task("b", { n: 2 })]);
    expect(first).toMatchObject({
      outcome: { kind: "done", output: { pk: "a", n: 2, calls: 1, be: null } },
      stdout: "out a\nmore\n",
      stderr: "err 1\n",
      truncated: false,
    });
    expect(second).toMatchObject({
      outcome: { output: { n: 4, calls: 2 } },
      stdout: "out b\nmore\n",
    });
  });

  test("what a task leaves beside it as bunfig.toml and .env runs and counts for no task after it", async () => {
    const source = `
import { writeFileSync } from "node:fs";
export default async function run({ extra }: { extra: { leave: boolean } }) {
  if (extra.leave) {
    writeFileSync("evil.ts", "globalThis.evil = true;");
    writeFileSync("bunfig.toml", 'preload = ["./evil.ts"]');
    writeFileSync(".env", "FROM_DOTENV=1");
  }
  return { evil: (globalThis as any).evil ?? null, env: process.env.FROM_DOTENV ?? null };
}`;
    for (const leave of [true, false]) {
      const executor = await rig.bun(source);
      const [end] = await rig.run(executor, [task("a", { leave })]);
      expect(end).toMatchObject({ outcome: { output: { evil: null, env: null } } });
      await rig.closeExecutors();
    }
  });

  test("createPlugin and a class Plugin get init_kwargs; a module of a directory is found by its name", async () => {
    const made = await rig.bun(
      "export const createPlugin = async ({ greeting }) => ({ run: ({ pk }) => greeting + pk });",
      { init_kwargs: { greeting: "hello " } },
    );
    expect(outcomesOf(await rig.run(made, [task("you")]))).toEqual([
      { kind: "done", output: "hello you" },
    ]);
    const source_path = join(rig.dir, "plugins");
    await mkdir(source_path);
    await writeFile(join(source_path, "greeting.ts"), 'export const word: string = "hi ";');
    await writeFile(
      join(source_path, "greeter.ts"),
      `import { word } from "./greeting";
       export class Plugin {
         constructor(readonly init: { mark: string }) {}
         run({ pk }: { pk: string }) { return word + pk + this.init.mark; }
       }`,
    );
    const found = await rig.executor("bun_module", {
      source_path,
      module: "greeter",
      init_kwargs: { mark: "!" },
    });
    expect(outcomesOf(await rig.run(found, [task("you")]))).toEqual([
      { kind: "done", output: "hi you!" },
    ]);
  });

  test("run_batch gets all tasks of a batch; an Error in place of an output fails that task alone", async () => {
    const executor = await rig.bun(`
export async function* run_batch(items) {
  for (const { pk } of items) {
    console.log("item", pk);
    yield pk === "b" ? new RangeError("bad one") : pk.toUpperCase();
  }
}`);
    const ends = await rig.run(executor, [task("a"), task("b"), task("c")]);
    expect(outcomesOf(ends)).toMatchObject([
      { kind: "done", output: "A" },
      { kind: "failed", outcome: "error", error: "RangeError: bad one" },
      { kind: "done", output: "C" },
    ]);
    expect(ends.map((e) => e.stdout)).toEqual(["item a\n", "item b\n", "item c\n"]);
  });

  test("what is thrown fails the task with its message, its stack is on stderr, the process goes on", async () => {
    const executor = await rig.bun(`
import { NoRetry, RetryLater } from "flotilla";
export default ({ pk }) => {
  if (pk === "later") throw new RetryLater(2.5);
  if (pk === "never") throw new NoRetry("no use");
  if (pk === "odd") return 10n;
  if (pk === "zero") throw new TypeError("of no use");
  return process.pid;
};`);
    const ends = await rig.run(
      executor,
      ["zero", "later", "never", "odd", "fine"].map((pk) => task(pk)),
    );
    expect(outcomesOf(ends)).toMatchObject([
      { kind: "failed", outcome: "error", error: "TypeError: of no use" },
      { kind: "failed", retry_after_ms: 2_500, no_retry: false },
      { kind: "failed", no_retry: true, error: "NoRetry: no use" },
      { kind: "failed", outcome: "error" },
      { kind: "done" },
    ]);
    expect(ends[0]?.stderr).toContain("of no use");
  });

  test("at its deadline a task is asked to stop by ctx.signal; one that does not listen is ended", () =>
    withTaskClock(async (rig, mark) => {
      const executor = await rig.bun(`
import { writeFileSync } from "node:fs";
export default async ({ pk }, ctx) => {
  if (pk === "fine") return 1;
  console.log("waiting");
  if (pk === "polite") {
    const stopped = new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
    writeFileSync(${JSON.stringify(mark("polite"))}, "");
    await stopped;
    throw new Error("stopped as asked");
  }
  writeFileSync(${JSON.stringify(mark("lost"))}, "");
  for (;;);
};`);
      const ends = await rig.run(executor, [task("polite"), task("rude"), task("fine")], {
        timeout_ms: DEADLINE_MS,
      });
      expect(outcomesOf(ends)).toMatchObject([
        { outcome: "timeout", error: "the task did not finish within the timeout of 0.234 s" },
        { outcome: "timeout" },
        { kind: "done", output: 1 },
      ]);
      expect(ends.slice(0, 2).map((e) => e.stdout)).toEqual(["waiting\n", "waiting\n"]);
      expect(ends[0]?.stderr).toContain("stopped as asked");
    }));

  test("a module that cannot be loaded runs nothing and consumes no attempt", async () => {
    const executor = await rig.bun('import "not-there-at-all"; export default () => 1;');
    const [end] = await rig.run(executor, [task("a")]);
    expect(end?.outcome).toMatchObject({
      kind: "not_run",
      reason: expect.stringContaining("not-there-at-all"),
    });
    const empty = await rig.bun("export const nothing = 1;");
    expect((await rig.run(empty, [task("a")]))[0]?.outcome).toMatchObject({ kind: "not_run" });
  });

  test("what grandchildren print is captured with the task, forged marks and frames on stdout are text", async () => {
    const executor = await rig.bun(`
import { spawnSync } from "node:child_process";

export default () => {
  process.stdout.write("js ");
  spawnSync("sh", ["-c", "printf 'child '; printf oops >&2"], { stdio: "inherit" });
  process.stdout.write("\\x1e0123456789abcdef\\n");
  console.log('{"type":"result","id":1,"epoch":1,"output":"forged"}');
  return "real";
};`);
    const [end] = await rig.run(executor, [task("a")]);
    expect(end?.outcome).toEqual({ kind: "done", output: "real" });
    expect(end?.stdout).toBe(
      'js child \x1e0123456789abcdef\n{"type":"result","id":1,"epoch":1,"output":"forged"}\n',
    );
    expect(end?.stderr).toBe("oops");
  });
});
