import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { isAlive, readStat } from "#shared/kit/proc.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { createJudge } from "#worker/egress/judge.ts";
import { isMarked, markPorts, type PortMarks, seesMarks } from "#worker/egress/port-marks.ts";

/** Workers of one machine tell each other their lanes' ports (rules/egress#never-reachable). */

const ROOT = join(import.meta.dir, "../..");
const MODULE = join(ROOT, "worker/egress/port-marks.ts");
const made: PortMarks[] = [];
const mark = (...ports: number[]) => {
  const marks = markPorts(ports);
  made.push(marks);
  return marks;
};
afterEach(() => {
  for (const marks of made.splice(0)) marks.remove();
});

test("ports are marked until they are no longer", () => {
  const marks = mark(7, 8, 9, 3, 8);
  expect(seesMarks()).toBe(true);
  expect([2, 3, 4, 6, 7, 8, 9, 10].filter(isMarked)).toEqual([3, 7, 8, 9]);
  const again = mark(9);
  marks.remove();
  expect([3, 7, 8, 9].filter(isMarked)).toEqual([9]);
  again.add([20, 21]);
  expect([19, 20, 21, 22].filter(isMarked)).toEqual([20, 21]);
  expect(again.fds).toHaveLength(2);
  again.remove();
  expect([9, 20, 21].filter(isMarked)).toEqual([]);
});

test("a judge refuses a marked port at every address of this machine, and nowhere else", () => {
  mark(7);
  const judge = createJudge({ navigation_block: [], own_ports: [], isNeighbours: isMarked });
  for (const address of ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
    expect(judge.refusal(address, 7)).toContain("of another worker's lanes on this machine");
  expect(judge.refusal("127.0.0.1", 8)).toBeNull();
  expect(judge.refusal("192.0.2.1", 7)).toBeNull();
});

test("another process sees the marks, and those of one that is killed are gone", async () => {
  const other = Bun.spawn(
    [
      process.execPath,
      "-e",
      `const { markPorts } = await import(${JSON.stringify(MODULE)});
       markPorts([11]);
       process.stdout.write("marked");
       setInterval(() => {}, 1_000);`,
    ],
    { stdout: "pipe", stderr: "inherit" },
  );
  try {
    const said = await other.stdout.getReader().read();
    expect(new TextDecoder().decode(said.value)).toBe("marked");
    expect(isMarked(11)).toBe(true);
  } finally {
    other.kill("SIGKILL");
    await other.exited;
  }
  await until("the end of its marks", 10_000, () => !isMarked(11));
});

test("marks outlive a worker that is killed until nothing that it has started is left (rules/egress#never-reachable)", async () => {
  const code = `
    const { markPorts } = await import(${JSON.stringify(MODULE)});
    const { startGuardian } = await import(${JSON.stringify(join(ROOT, "worker/browser/process/guardian.ts"))});
    const { LANE_TAG } = await import(${JSON.stringify(join(ROOT, "worker/browser/process/tagged.ts"))});
    const tag = "marked-" + process.pid + ":";
    const guardian = startGuardian(tag, { warn() {} }, markPorts([13]).fds);
    const browser = Bun.spawn(["sleep", "600"], { env: { ...process.env, [LANE_TAG]: tag + "0" } });
    process.stdout.write(JSON.stringify([guardian.pid, browser.pid]));
    setInterval(() => {}, 1_000);`;
  const other = Bun.spawn([process.execPath, "-e", code], { stdout: "pipe", stderr: "inherit" });
  const said = await other.stdout.getReader().read();
  const [guardian, browser] = JSON.parse(new TextDecoder().decode(said.value)) as [number, number];
  const there = () => isAlive(readStat(browser));
  // It cannot end the browser yet.
  process.kill(guardian, "SIGSTOP");
  try {
    other.kill("SIGKILL");
    await other.exited;
    expect([there(), isMarked(13)]).toEqual([true, true]);
  } finally {
    process.kill(guardian, "SIGCONT");
  }
  await until("the end of the mark", 30_000, () => !isMarked(13));
  expect(there()).toBe(false);
});
