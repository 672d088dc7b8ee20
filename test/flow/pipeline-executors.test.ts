import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { systemClock } from "#shared/kit/clock.ts";
import { isAlive, readStat } from "#shared/kit/proc.ts";
import { DEADLINE_MS } from "#test/support/fakes/task-clock.ts";
import {
  createExecutorRig,
  type ExecutorRig,
  outcomesOf,
  task,
  withTaskClock,
} from "#test/support/rigs/executor-rig.ts";
import { until } from "#test/support/rigs/fleet-process.ts";

let rig: ExecutorRig;
beforeAll(async () => {
  rig = await createExecutorRig(systemClock);
});
afterEach(() => rig.closeExecutors());
afterAll(() => rig.close());

describe("python_module (protocol wp-exec/1)", () => {
  test("runs tasks in one warm process and gives back output, stdout and stderr of each", async () => {
    const executor = await rig.python(`
import os, sys
calls = 0
def run(pk, extra, ctx):
    global calls
    calls += 1
    print("out", pk)
    print("err", ctx.attempt, file=sys.stderr)
    return {"pk": pk, "n": extra["n"] * 2, "calls": calls, "pid": os.getpid()}
`);
    const first = await rig.run(executor, [task("a", { n: 1 })]);
    const [second] = await rig.run(executor, [task("b", { n: 2 })]);
    expect(first).toMatchObject([
      {
        outcome: { kind: "done", output: { pk: "a", n: 2, calls: 1 } },
        stdout: "out a\n",
        stderr: "err 1\n",
        truncated: false,
      },
    ]);
    expect(second).toMatchObject({ outcome: { output: { n: 4, calls: 2 } }, stdout: "out b\n" });
  });

  test("a class Plugin gets init_kwargs, an async run is awaited, fewer parameters are fine", async () => {
    const executor = await rig.python(
      `
import asyncio
class Plugin:
    def __init__(self, greeting):
        self.greeting = greeting
    async def run(self, pk):
        await asyncio.sleep(0.001)
        return self.greeting + " " + pk
`,
      { init_kwargs: { greeting: "hello" } },
    );
    expect(outcomesOf(await rig.run(executor, [task("you")]))).toEqual([
      { kind: "done", output: "hello you" },
    ]);
  });

  test("run_batch gets all tasks of a batch; an exception in place of an output fails that task alone", async () => {
    const executor = await rig.python(`
def run_batch(items, ctx):
    for item in items:
        print("item", item["pk"])
        yield ValueError("bad one") if item["pk"] == "b" else item["pk"].upper()
`);
    const ends = await rig.run(executor, [task("a"), task("b"), task("c")]);
    expect(outcomesOf(ends)).toMatchObject([
      { kind: "done", output: "A" },
      { kind: "failed", outcome: "error", error: "ValueError: bad one" },
      { kind: "done", output: "C" },
    ]);
    expect(ends.map((e) => e.stdout)).toEqual(["item a\n", "item b\n", "item c\n"]);
  });

  test("an exception fails the task with its message, its traceback is on stderr, the process goes on", async () => {
    const executor = await rig.python(`
from flotilla import RetryLater, NoRetry
def run(pk, extra, ctx):
    if pk == "later": raise RetryLater(2.5)
    if pk == "never": raise NoRetry("no use")
    if pk == "odd": return object
    return 1 / (0 if pk == "zero" else 1)
`);
    const ends = await rig.run(executor, [
      task("zero"),
      task("later"),
      task("never"),
      task("fine"),
    ]);
    expect(outcomesOf(ends)).toMatchObject([
      { kind: "failed", outcome: "error", error: "ZeroDivisionError: division by zero" },
      { kind: "failed", retry_after_ms: 2_500, no_retry: false },
      { kind: "failed", no_retry: true, error: "NoRetry: no use" },
      { kind: "done", output: 1 },
    ]);
    expect(ends[0]?.stderr).toContain("Traceback");
  });

  test("what C code, os.write and grandchildren print is captured with its task, forged marks are text", async () => {
    const executor = await rig.python(`
import ctypes, os, subprocess, sys
def run(pk, extra, ctx):
    sys.stdout.write("py ")
    sys.stdout.flush()
    ctypes.CDLL(None).printf(b"c ")
    ctypes.CDLL(None).fflush(None)
    os.write(1, b"raw ")
    subprocess.run(["sh", "-c", "printf 'child '; printf oops >&2"])
    os.write(1, b"\\x1e0123456789abcdef\\n")
    print('{"type":"result","id":1,"epoch":1,"output":"forged"}')
    return "real"
`);
    const [end] = await rig.run(executor, [task("a")]);
    expect(end?.outcome).toEqual({ kind: "done", output: "real" });
    expect(end?.stdout).toBe(
      'py c raw child \x1e0123456789abcdef\n{"type":"result","id":1,"epoch":1,"output":"forged"}\n',
    );
    expect(end?.stderr).toBe("oops");
  });

  test("a module that exits or kills itself fails that task as crashed, and the next one runs in a new process", async () => {
    const executor = await rig.python(`
import os, signal
def run(pk, extra, ctx):
    print("before", flush=True)
    if pk == "exit": os._exit(3)
    if pk == "kill": os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()
`);
    const ends = await rig.run(executor, [task("fine"), task("exit"), task("kill"), task("fine")]);
    expect(outcomesOf(ends)).toMatchObject([
      { kind: "done" },
      { outcome: "crashed", error: "the task's process exited with code 3" },
      { outcome: "crashed", error: "the task's process killed by SIGKILL" },
      { kind: "done" },
    ]);
    expect(ends.map((e) => e.stdout)).toEqual(["before\n", "before\n", "before\n", "before\n"]);
  });

  test(
    "a task that hangs is asked to stop, interrupted, and fails as timeout; the next one runs",
    () =>
      withTaskClock(async (rig, mark) => {
        const executor = await rig.python(`
import time
def run(pk, extra, ctx):
    if pk == "fine": return 1
    print("waiting", flush=True)
    if pk == "polite":
        open(${JSON.stringify(mark("polite"))}, "w").close()
        while not ctx.cancelled.is_set(): time.sleep(0.01)
        raise RuntimeError("stopped as asked")
    open(${JSON.stringify(mark("deaf"))}, "w").close()
    time.sleep(600)
`);
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
      }),
    180_000,
  );

  test("a module that cannot be loaded runs nothing and consumes no attempt", async () => {
    const executor = await rig.python("import not_there_at_all");
    const [end] = await rig.run(executor, [task("a")]);
    expect(end?.outcome).toEqual({
      kind: "not_run",
      broken: true,
      reason:
        "the module cannot be loaded: ModuleNotFoundError: No module named 'not_there_at_all'",
    });
    expect(end?.stderr).toContain("Traceback");
  });

  test("a grandchild that stays and holds the pipes does not hold the task, and is gone when the executor closes", async () => {
    const executor = await rig.python(`
import subprocess
def run(pk, extra, ctx):
    return subprocess.Popen(["sleep", "600"]).pid
`);
    const [end] = await rig.run(executor, [task("a")]);
    const pid = Number((end?.outcome as { output?: unknown } | undefined)?.output);
    expect(() => process.kill(pid, 0)).not.toThrow();
    await executor.close();
    await until("the end of the grandchild", 60_000, () => !isAlive(readStat(pid)));
  });
});

describe("command (rules/pipeline-executors#commands)", () => {
  test("gets the task as JSON on stdin; JSON on stdout is the output, other text is only printed", async () => {
    const executor = await rig.command(["sh", "-c", 'read line; echo "$line"; echo note >&2']);
    const [end] = await rig.run(executor, [task("a/b", { n: 1 })]);
    expect(end).toMatchObject({
      outcome: { kind: "done", output: { pk: "a/b", extra: { n: 1 }, attempt: 1 } },
      stderr: "note\n",
    });
  });

  test("fails by its exit code, its signal and its timeout, with what it printed", async () => {
    const command = (script: string) => rig.command(["sh", "-c", script]);
    expect(outcomesOf(await rig.run(await command("exit 3"), [task("a")]))).toMatchObject([
      { kind: "failed", outcome: "error", error: "exited with code 3" },
    ]);
    expect(outcomesOf(await rig.run(await command("kill -9 $$"), [task("a")]))).toMatchObject([
      { kind: "failed", outcome: "crashed", error: "killed by SIGKILL" },
    ]);
    await withTaskClock(async (slow, mark) => {
      const script = `echo begun; : > ${mark("polite")}; sleep 600`;
      const executor = await slow.command(["sh", "-c", script]);
      const [end] = await slow.run(executor, [task("a")], { timeout_ms: DEADLINE_MS });
      expect(end).toMatchObject({
        outcome: { kind: "failed", outcome: "timeout" },
        stdout: "begun\n",
      });
    });
  });

  test("a program that is not there runs nothing and consumes no attempt", async () => {
    const executor = await rig.command(["/no/such/program"]);
    const [end] = await rig.run(executor, [task("a")]);
    expect(end?.outcome).toMatchObject({ kind: "not_run" });
  });
});
