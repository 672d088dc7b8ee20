import { afterEach, describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "#shared/kit/clock.ts";
import { createLog } from "#shared/kit/log.ts";
import { parseStat, ticksOfTree } from "#shared/kit/proc.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { createProcessCpu } from "#worker/program/process-cpu.ts";
import { createGpuSampler } from "#worker/tasks/gpu-sampler.ts";
import { readGpus } from "#worker/tasks/gpus.ts";

const dirs: string[] = [];
afterEach(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
});

/** A PATH on which `nvidia-smi` prints `lines`, after noting that it was called. */
function fakeTool(lines: string[], before = ""): { path: string; calls(): number } {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-smi-"));
  dirs.push(dir);
  const file = join(dir, "nvidia-smi");
  const out = lines.map((line) => `echo '${line}'`).join("\n");
  writeFileSync(file, `#!/bin/sh\necho "$@" >> ${dir}/calls\n${before}\n${out}\n`);
  chmodSync(file, 0o755);
  const calls = () => {
    try {
      return readFileSync(join(dir, "calls"), "utf8").trim().split("\n").length;
    } catch {
      return 0;
    }
  };
  return { path: `${dir}:/usr/bin:/bin`, calls };
}

function sampler(read: () => ReturnType<typeof readGpus>) {
  const clock = createFakeClock();
  const log: string[] = [];
  const reads: Promise<unknown>[] = [];
  const sample = createGpuSampler({
    clock,
    log: createLog("warn", (line) => log.push(line)),
    read: () => {
      const reading = read();
      reads.push(reading.catch(() => {}));
      return reading;
    },
  });
  /** Every reading that was begun is taken in. */
  const settle = async () => {
    await Promise.all(reads);
    await clock.advance(0);
  };
  return { sample, clock, settle, log };
}

describe("GPUs of a worker (rules/pipeline-views#gpu-metrics)", () => {
  test("what nvidia-smi prints is told with the next heartbeat, and asked for once a minute", async () => {
    const tool = fakeTool([
      "0, NVIDIA GeForce RTX 4090, 37, 2048, 24564",
      "1, NVIDIA A2, [N/A], 512, [Not Supported]",
    ]);
    const { sample, clock, settle } = sampler(() => readGpus(tool.path));
    expect(sample()).toEqual([]);
    expect(sample()).toEqual([]);
    await settle();
    const gpus = [
      {
        index: 0,
        name: "NVIDIA GeForce RTX 4090",
        util_percent: 37,
        mem_used_mb: 2048,
        mem_total_mb: 24564,
      },
      { index: 1, name: "NVIDIA A2", util_percent: null, mem_used_mb: 512, mem_total_mb: null },
    ];
    expect(sample()).toEqual(gpus);
    await clock.advance(59_999);
    expect(sample()).toEqual(gpus);
    expect(tool.calls()).toBe(1);
    await clock.advance(1);
    sample();
    await settle();
    expect(tool.calls()).toBe(2);
  });

  test("a reading that fails leaves the last one for three minutes, and says so in the log", async () => {
    let broken = false;
    const gpu = { index: 0, name: "Card", util_percent: 1, mem_used_mb: 2, mem_total_mb: 3 };
    const { sample, clock, settle, log } = sampler(async () => {
      if (broken) throw new Error("driver gone");
      return [gpu];
    });
    sample();
    await settle();
    broken = true;
    await clock.advance(180_000);
    expect(sample()).toEqual([gpu]);
    await settle();
    expect(log.join()).toContain("driver gone");
    await clock.advance(1);
    expect(sample()).toEqual([]);
  });

  test("without nvidia-smi there are none, and nothing is logged", async () => {
    const empty = mkdtempSync(join(tmpdir(), "flotilla-smi-"));
    dirs.push(empty);
    const { sample, settle, log } = sampler(() => readGpus(empty));
    sample();
    await settle();
    expect([sample(), log]).toEqual([[], []]);
  });
});

describe("CPU of a worker (rules/pipeline-views#cpu-use)", () => {
  test("reads the time of a process and of the children it waited for, whatever its name", () => {
    const line = "42 (a) b (c) S 7 42 42 0 -1 4194304 1 2 3 4 100 20 3 4 20 0 1 0 9 9 9";
    expect(parseStat(line)).toMatchObject({ pid: 42, ppid: 7, ticks: 127 });
  });

  test("counts the whole tree below the worker and nothing beside it", () => {
    const of = (pid: number, ppid: number, ticks: number) => ({ pid, ppid, ticks });
    const all = [of(1, 0, 1_000), of(5, 1, 10), of(6, 5, 20), of(7, 6, 30), of(8, 1, 500)];
    expect(ticksOfTree(5, all)).toBe(60);
    expect(ticksOfTree(99, all)).toBe(0);
  });

  test("is the share of all CPUs since the call before, which is two seconds ago at least", async () => {
    const clock = createFakeClock();
    let ticks = 1_000;
    const read = () => [{ pid: 5, ppid: 1, ticks }];
    const cpu = createProcessCpu({ clock, pid: 5, cpus: 4, read });
    expect(cpu()).toBeNull();
    await clock.advance(2_000);
    ticks += 200; // two seconds of one CPU
    expect(cpu()).toBe(25);
    ticks += 50;
    await clock.advance(1_000);
    expect(cpu()).toBe(25);
    await clock.advance(1_000);
    expect(cpu()).toBe(6.3);
    await clock.advance(2_000);
    ticks -= 100;
    expect(cpu()).toBe(0);
    expect(createProcessCpu({ clock, read: () => null })()).toBeNull();
  });

  test("sees what a child of this very process burns", async () => {
    let now = 0;
    const cpu = createProcessCpu({ clock: { ...systemClock, monotonic: () => now }, cpus: 1 });
    const child = spawn(
      "sh",
      ["-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo; read x"],
      {
        stdio: ["pipe", "pipe", "ignore"],
      },
    );
    try {
      await new Promise((resolve) => child.stdout.once("data", resolve));
      now = 10_000;
      expect(cpu()).toBeGreaterThan(0);
    } finally {
      child.stdin.end();
      await new Promise((resolve) => child.once("exit", resolve));
    }
  });
});
