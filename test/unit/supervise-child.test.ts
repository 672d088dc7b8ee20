import { afterEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "#test/support/rigs/fleet-process.ts";

const PARENT = join(import.meta.dir, "../support/rigs/supervising-parent.ts");

interface Line {
  message: string;
  pid?: number;
  code?: number;
}

let parent: ReturnType<typeof start> | null = null;

function start(...args: string[]) {
  const proc = Bun.spawn([process.execPath, PARENT, ...args], {
    stdout: "pipe",
    stderr: "inherit",
  });
  const lines: Line[] = [];
  const reading = (async () => {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const chunk of proc.stdout) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = parts.pop() ?? "";
      lines.push(...parts.map((line) => JSON.parse(line) as Line));
    }
  })();
  return {
    proc,
    reading,
    starts: () => lines.filter((l) => l.message === "child started"),
    lines,
  };
}

/** A zombie is gone too: this process is not its parent and cannot reap it. */
function isGone(pid: number): boolean {
  try {
    return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return true;
  }
}

afterEach(async () => {
  parent?.proc.kill("SIGKILL");
  await parent?.proc.exited;
  parent = null;
});

const firstPid = async (p: ReturnType<typeof start>) =>
  until("the child", 60_000, () => p.starts()[0]?.pid);

test("a child ends when its parent is killed with -9", async () => {
  parent = start();
  const pid = await firstPid(parent);
  parent.proc.kill("SIGKILL");
  await until("the end of the child", 60_000, () => isGone(pid));
});

test("SIGTERM to the parent ends the child and gives 0", async () => {
  parent = start();
  const pid = await firstPid(parent);
  parent.proc.kill("SIGTERM");
  expect(await parent.proc.exited).toBe(0);
  expect(isGone(pid)).toBe(true);
});

test("a child that dies is started again", async () => {
  parent = start();
  const pid = await firstPid(parent);
  process.kill(pid, "SIGKILL");
  const running = parent;
  const second = await until("another start", 60_000, () => running.starts()[1]?.pid);
  expect(second).not.toBe(pid);
});

test("a child that lacks a program (exit 3) is left down", async () => {
  parent = start("exit=3");
  expect(await parent.proc.exited).toBe(3);
  await parent.reading;
  expect(parent.starts()).toHaveLength(1);
  expect(parent.lines.some((l) => l.message === "child cannot run and is not restarted")).toBe(
    true,
  );
});

test("a child that asks for it (exit 42) is started again without a wait", async () => {
  parent = start("exit=42");
  const running = parent;
  await until("three starts", 60_000, () => running.starts().length >= 3);
  const ended = parent.lines.filter((l) => l.message === "child ended") as unknown as {
    retry_ms: number;
  }[];
  expect(ended.every((l) => l.retry_ms === 0)).toBe(true);
});
