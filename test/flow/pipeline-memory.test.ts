import {
  afterAll,
  afterEach,
  beforeAll,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from "bun:test";
import { objectsHeld } from "#test/support/models/heap.ts";
import {
  createExecutorRig,
  type ExecutorRig,
  outcomesOf,
  task,
} from "#test/support/rigs/executor-rig.ts";
import { heldBytes, MIB, wornAbove } from "#worker/tasks/memory.ts";

// Processes start slowly on a busy machine.
setDefaultTimeout(180_000);

let rig: ExecutorRig;
beforeAll(async () => {
  rig = await createExecutorRig();
});
afterEach(() => rig.closeExecutors());
afterAll(() => rig.close());

const TOO_MUCH = /used \d+ MB of memory, more than its memory_mb of \d+$/;

describe("executor_config.memory_mb", () => {
  test("a Python task that takes more crashes alone: what it printed is kept, the next one runs", async () => {
    const executor = await rig.python(
      `
import time
def run(pk):
    if pk == "fine": return 1
    print("eating", flush=True)
    kept = []
    while True:
        kept.append(b"x" * 10_000_000)
        time.sleep(0.005)
`,
      { memory_mb: 150 },
    );
    const ends = await rig.run(executor, [task("fine"), task("greedy"), task("fine")]);
    expect(outcomesOf(ends)).toMatchObject([
      { kind: "done" },
      { outcome: "crashed", error: expect.stringMatching(TOO_MUCH) },
      { kind: "done" },
    ]);
    expect(ends[1]?.stdout).toBe("eating\n");
  });

  test("a TypeScript task that takes more crashes alone", async () => {
    const executor = await rig.bun(
      `
const kept: Uint8Array[] = [];
export default async ({ pk }) => {
  if (pk === "fine") return 1;
  for (;;) {
    kept.push(new Uint8Array(20_000_000).fill(1));
    await Bun.sleep(5);
  }
};`,
      { memory_mb: 300 },
    );
    expect(outcomesOf(await rig.run(executor, [task("greedy"), task("fine")]))).toMatchObject([
      { outcome: "crashed", error: expect.stringMatching(TOO_MUCH) },
      { kind: "done" },
    ]);
  });

  test("what a command starts counts with it", async () => {
    const eat = "import time; kept = b'x' * 200_000_000; time.sleep(60)";
    const executor = await rig.command(["sh", "-c", `python3 -c "${eat}"; true`], {
      memory_mb: 100,
    });
    expect(outcomesOf(await rig.run(executor, [task("a")]))).toMatchObject([
      { outcome: "crashed", error: expect.stringMatching(TOO_MUCH) },
    ]);
  });

  test("a module that needs more to be loaded is broken: nothing runs and no attempt is consumed", async () => {
    const executor = await rig.python("kept = b'x' * 200_000_000\ndef run(pk): return 1", {
      memory_mb: 100,
    });
    const [end] = await rig.run(executor, [task("a")]);
    expect(end?.outcome).toMatchObject({
      kind: "not_run",
      reason: expect.stringMatching(/cannot be loaded: it needs \d+ MB/),
    });
  });
});

describe("recycling", () => {
  test("a process is replaced after recycle_after tasks", async () => {
    const source = "import os\ndef run(pk): return os.getpid()";
    const executor = await rig.python(source, { recycle_after: 2 });
    const pids = [];
    for (let i = 0; i < 4; i += 1)
      pids.push((await rig.run(executor, [task("a")]))[0]?.outcome as { output: number });
    const [a, b, c, d] = pids.map(({ output }) => output);
    expect([a === b, b === c, c === d]).toEqual([true, false, true]);
  });

  test("one that has grown far beyond what it held when it was loaded is replaced before its next task", async () => {
    const executor = await rig.python(`
import os, time
kept = []
def run(pk):
    if pk == "grow":
        kept.append(b"x" * 300_000_000)
        time.sleep(1)
    return os.getpid()
`);
    const [first] = await rig.run(executor, [task("grow")]);
    const [second] = await rig.run(executor, [task("b")]);
    expect(first?.outcome).toMatchObject({ kind: "done" });
    expect(second?.outcome).toMatchObject({ kind: "done" });
    expect(second?.outcome).not.toEqual(first?.outcome);
  });

  test("a process that is large from the start is not replaced forever", () => {
    expect(wornAbove(100 * MIB, null)).toBe(400 * MIB);
    expect(wornAbove(50 * MIB, 200 * MIB)).toBe(160 * MIB);
    expect(wornAbove(180 * MIB, 200 * MIB)).toBe(190 * MIB);
    expect(heldBytes(process.pid)).toBeGreaterThan(MIB);
    expect(heldBytes(2 ** 22)).toBeNull();
  });
});

test("a worker keeps nothing of the tasks that a warm process has done", async () => {
  const executor = await rig.bun("export default ({ pk }: { pk: string }) => ({ said: pk });");
  const after = async (count: number) => {
    let done = 0;
    for (let i = 0; i < count; i += 1) {
      const [end] = await rig.run(executor, [task(`t${i}`)]);
      if (end?.outcome.kind === "done") done += 1;
    }
    expect(done).toBe(count);
    return objectsHeld();
  };
  const before = await after(1_000);
  // Even one object kept of each would be 1,000.
  expect((await after(1_000)) - before).toBeLessThan(500);
});
