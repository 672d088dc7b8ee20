import {
  afterAll,
  afterEach,
  beforeAll,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from "bun:test";
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
import { runProgram } from "#test/support/rigs/program.ts";
import type { Executor, TaskEnd } from "#worker/tasks/executor.ts";

// Processes start slowly on a busy machine.
setDefaultTimeout(180_000);

/** What tasks do to the process they run in, and that the next one does not notice. */

let rig: ExecutorRig;
beforeAll(async () => {
  rig = await createExecutorRig();
});
afterEach(() => rig.closeExecutors());
afterAll(() => rig.close());

const KEPT = 512 * 1024;
const FINE = { kind: "done", output: "fine" } as const;

/** The same task in either language; each ends with the output "fine" unless it is told to misbehave. */
const languages: [string, (body: Record<"python" | "bun", string>) => Promise<Executor>][] = [
  [
    "python_module",
    ({ python }) =>
      rig.python(`
import ctypes, json, os, subprocess, sys, time
def run(pk, extra, ctx):
${python
  .trim()
  .split("\n")
  .map((line) => `    ${line}`)
  .join("\n")}
    return "fine"
`),
  ],
  [
    "bun_module",
    ({ bun }) =>
      rig.bun(`
import { closeSync, existsSync, writeSync } from "node:fs";
import { spawn } from "node:child_process";

export default async ({ pk, extra }, ctx) => {
${bun}
  return "fine";
};`),
  ],
];

const one = async (executor: Executor, pk: string, extra: unknown = null, timeout_ms?: number) => {
  const [end] = await rig.run(executor, [task(pk, extra)], timeout_ms ? { timeout_ms } : {});
  return end as TaskEnd;
};
/** The process is whole: a task after it runs and prints what is its own. */
async function expectNext(executor: Executor): Promise<void> {
  const end = await one(executor, "plain");
  expect(end).toMatchObject({ outcome: FINE, stdout: "plain\n", truncated: false });
}

describe.each(languages)("%s", (_name, make) => {
  test("half a character at the end of a task does not meet the other half in the next one", async () => {
    const executor = await make({
      python: `
if pk == "plain": print(pk)
else: os.write(1, bytes(extra))`,
      bun: `if (pk === "plain") console.log(pk); else writeSync(1, new Uint8Array(extra));`,
    });
    const [first, second] = await rig.run(executor, [
      task("a", [0x61, 0xe2, 0x82]),
      task("b", [0xac, 0x62]),
    ]);
    expect(first).toMatchObject({ outcome: FINE, stdout: "a\ufffd" });
    expect(second).toMatchObject({ outcome: FINE, stdout: "\ufffdb" });
    await expectNext(executor);
  });

  test("of a line of 50 MB both ends are kept, and the next task is not in it", async () => {
    const executor = await make({
      python: `
if pk == "plain": print(pk)
else:
    sys.stdout.write("begin" + "x" * 50_000_000 + "end")`,
      bun: `
  if (pk === "plain") console.log(pk);
  else process.stdout.write("begin" + "x".repeat(50_000_000) + "end");`,
    });
    const { outcome, stdout, truncated } = await one(executor, "long");
    expect(outcome).toEqual(FINE);
    expect(truncated).toBe(true);
    expect(stdout.length).toBeLessThan(KEPT + 100);
    expect([stdout.slice(0, 5), stdout.slice(-3)]).toEqual(["begin", "end"]);
    expect(stdout).toContain("bytes left out");
    await expectNext(executor);
  });

  test("wherever a read cuts the mark, each task gets exactly what it printed", async () => {
    const executor = await make({
      python: `sys.stdout.write("x" * extra); sys.stdout.flush()`,
      bun: `process.stdout.write("x".repeat(extra));`,
    });
    const sizes = Array.from({ length: 40 }, (_, i) => 65_536 - 20 + i).concat([0, 1, 131_072]);
    const ends = await rig.run(
      executor,
      sizes.map((size) => task("a", size)),
    );
    expect(outcomesOf(ends)).toEqual(sizes.map(() => FINE));
    expect(ends.map((end) => end.stdout.length)).toEqual(sizes);
  });

  test("frames and marks that a task forges, on stdout or on the control pipe, change nothing", async () => {
    const executor = await make({
      python: `
forged = json.dumps({"type": "result", "id": 1, "epoch": 1, "output": "forged"})
if pk != "plain":
    os.write(3, b"no frame at all\\n" + b"[1,2]\\nnull\\n" + forged.encode() + b"\\n")
    os.write(3, b'{"type":"result","id":')
    os.write(1, b"\\x1e" * 3 + b"0123456789abcdef\\n")
print(pk)`,
      bun: `
  const forged = JSON.stringify({ type: "result", id: 1, epoch: 1, output: "forged" });
  if (pk !== "plain") {
    writeSync(3, "no frame at all\\n[1,2]\\nnull\\n" + forged + "\\n");
    writeSync(3, '{"type":"result","id":');
    writeSync(1, "\\x1e\\x1e\\x1e0123456789abcdef\\n");
  }
  console.log(pk);`,
    });
    const end = await one(executor, "forger");
    expect(end).toMatchObject({ outcome: FINE, stdout: "\x1e\x1e\x1e0123456789abcdef\nforger\n" });
    await expectNext(executor);
  });

  test("a task that closes its streams is told within the grace; the next one has new ones", async () => {
    const executor = await make({
      python: `
if pk == "plain": print(pk)
else: os.close(1)`,
      bun: `if (pk === "plain") console.log(pk); else closeSync(1);`,
    });
    expect((await one(executor, "closer")).outcome).toEqual(FINE);
    await expectNext(executor);
  });

  test("a task that closes the control pipe, or floods it, crashes alone", async () => {
    const executor = await make({
      python: `
if pk == "close": os.close(3)
if pk == "flood":
    while True: os.write(3, b"x" * 1_000_000)
print(pk)`,
      bun: `
  if (pk === "close") closeSync(3);
  if (pk === "flood") for (;;) writeSync(3, Buffer.alloc(1_000_000, 120));
  console.log(pk);`,
    });
    for (const pk of ["close", "flood"]) {
      const { outcome } = await one(executor, pk);
      expect(outcome).toMatchObject({ kind: "failed", outcome: "crashed" });
      await expectNext(executor);
    }
  });

  test("a grandchild that holds the pipes and goes on printing does not hold the task", async () => {
    const executor = await make({
      python: `
print(pk)
if pk != "plain":
  subprocess.Popen(["sh", "-c", "echo begun; echo > begun; exec sleep 600"])
  while not os.path.exists("begun"): time.sleep(0.02)`,
      bun: `
  console.log(pk);
  if (pk !== "plain") {
    spawn("sh", ["-c", "echo begun; echo > begun; exec sleep 600"], { stdio: "inherit" }).unref();
    while (!existsSync("begun")) await Bun.sleep(20);
  }`,
    });
    const end = await one(executor, "parent");
    expect(end.outcome).toEqual(FINE);
    expect(end.stdout).toBe("parent\nbegun\n");
    // The grandchild sleeps for ten minutes.
    expect(end.duration_ms).toBeLessThan(120_000);
    await expectNext(executor);
  });

  test("a task that exits crashes alone, with what it printed", async () => {
    const executor = await make({
      python: `
print(pk)
if pk == "exit": sys.exit(3)`,
      bun: `
  console.log(pk);
  if (pk === "exit") process.exit(3);
  if (pk === "later") setTimeout(() => { throw new Error("of a timer"); }, 0), await Bun.sleep(500);`,
    });
    expect(await one(executor, "exit")).toMatchObject({
      outcome: { outcome: "crashed", error: "the task's process exited with code 3" },
      stdout: "exit\n",
    });
    await expectNext(executor);
  });

  test("an output that is too large, or that JSON cannot hold, fails the task and keeps the process", async () => {
    const executor = await make({
      python: `
if pk == "huge": return "x" * 17_000_000
if pk == "odd":
    loop = {}; loop["self"] = loop
    return loop
if pk == "nan": return float("nan")
if pk == "deep":
    deep = []
    for _ in range(20_000): deep = [deep]
    return deep
print(pk)`,
      bun: `
  if (pk === "huge") return "x".repeat(17_000_000);
  if (pk === "odd") { const loop: any = {}; loop.self = loop; return loop; }
  if (pk === "nan") return 1n;
  if (pk === "deep") return { toJSON() { throw new Error("cannot be told"); } };
  console.log(pk);`,
    });
    for (const pk of ["huge", "odd", "nan", "deep"]) {
      const { outcome } = await one(executor, pk);
      expect({ pk, outcome }).toMatchObject({ pk, outcome: { kind: "failed", outcome: "error" } });
    }
    await expectNext(executor);
  });
});

test("a result that no JSON reader takes fails its task instead of leaving it without an end", async () => {
  const executor = await rig.python(`
import os
def run(pk, extra, ctx):
    if pk == "plain": print(pk)
    else: os.write(3, b'{"type":"result","id":%d,"epoch":%d,"output":NaN}\\n' % (ctx.task_id, ctx.epoch))
    return "fine"
`);
  const { outcome } = await one(executor, "odd");
  expect(outcome).toMatchObject({ outcome: "error", error: "the output is not JSON" });
  await expectNext(executor);
});

describe("python_module alone", () => {
  test("a forked child that returns from run is not taken for the runner", async () => {
    const executor = await rig.python(`
import os
def run(pk):
    if pk == "fork" and os.fork() == 0: return "child"
    if pk == "fork": os.wait()
    if pk == "plain": print(pk)
    return "fine"
`);
    expect((await one(executor, "fork")).outcome).toEqual(FINE);
    await expectNext(executor);
  });

  test("what is interrupted inside an async run does not go on inside the next task", () =>
    withTaskClock(async (slow, mark) => {
      const executor = await slow.python(`
import asyncio
async def run(pk):
    if pk == "stuck":
        try:
            open(${JSON.stringify(mark("deaf"))}, "w").close()
            await asyncio.sleep(600)
        finally: print("ended")
    if pk == "plain": print(pk)
    await asyncio.sleep(0.01)
    return "fine"
`);
      const stuck = await one(executor, "stuck", null, DEADLINE_MS);
      expect(stuck).toMatchObject({ outcome: { outcome: "timeout" }, stdout: "ended\n" });
      await expectNext(executor);
    }));

  test("run_batch may be an async generator", async () => {
    const executor = await rig.python(`
import asyncio
async def run_batch(items, ctx):
    for item in items:
        await asyncio.sleep(0)
        print(item["pk"])
        yield item["pk"].upper()
`);
    const ends = await rig.run(executor, [task("a"), task("b")]);
    expect(ends).toMatchObject([
      { outcome: { output: "A" }, stdout: "a\n" },
      { outcome: { output: "B" }, stdout: "b\n" },
    ]);
  });

  test("the runner is Python 3.9 and no newer", async () => {
    const runner = new URL("../../worker/tasks/runner.py", import.meta.url).pathname;
    const check = "import ast,sys; ast.parse(open(sys.argv[1]).read(), feature_version=(3, 9))";
    const { code, stderr } = await runProgram(["python3", "-c", check, runner]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });
});

describe("command", () => {
  const shell = (script: string) => rig.command(["sh", "-c", script]);

  test("of 50 MB on one line both ends are kept", async () => {
    const executor = await shell(
      "printf begin; head -c 50000000 /dev/zero | tr '\\0' x; printf end",
    );
    const { outcome, stdout, truncated } = await one(executor, "long");
    expect({ outcome, truncated }).toEqual({
      outcome: { kind: "done", output: null },
      truncated: true,
    });
    expect([stdout.slice(0, 5), stdout.slice(-3)]).toEqual(["begin", "end"]);
  });

  test("bytes that are no text, no stdin read, forged frames and a held pipe: each ends as it exited", async () => {
    const odd = await one(await shell("printf '\\342\\202'; printf '\\036mark\\n' >&2"), "a");
    expect(odd).toMatchObject({
      outcome: { kind: "done" },
      stdout: "\ufffd",
      stderr: "\x1emark\n",
    });
    const deaf = await one(await shell("exec true"), "a", { text: "x".repeat(1_000_000) });
    expect(deaf.outcome).toEqual({ kind: "done", output: null });
    const forged = await shell(`echo '{"type":"result","output":1}'; (sleep 600 &); exit 3`);
    const held = await one(forged, "a");
    expect(held.outcome).toMatchObject({ outcome: "error", error: "exited with code 3" });
    expect(held.duration_ms).toBeLessThan(120_000);
  });

  test("its streams are pipes that can be opened by name", async () => {
    const executor = await shell("echo both | tee /dev/stderr; echo more > /dev/stdout");
    const end = await one(executor, "a");
    expect(end).toMatchObject({ stdout: "both\nmore\n", stderr: "both\n" });
  });

  test("one that ignores SIGTERM is killed with what it started", () =>
    withTaskClock(async (slow, mark) => {
      const script = `trap '' TERM; sleep 600 & echo $!; : > ${mark("lost")}; wait; sleep 600`;
      const executor = await slow.command(["sh", "-c", script]);
      const { outcome, stdout } = await one(executor, "deaf", null, DEADLINE_MS);
      expect(outcome).toMatchObject({ outcome: "timeout" });
      const started = Number(stdout);
      expect(started).toBeGreaterThan(1);
      await until("the end of what it started", 60_000, () => !isAlive(readStat(started)));
    }));
});
