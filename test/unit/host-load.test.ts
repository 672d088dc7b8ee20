import { describe, expect, test } from "bun:test";
import { tmpdir } from "node:os";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { createHostLoad } from "#worker/program/host-load.ts";

const GIB = 1024 ** 3;
const meminfo = "MemTotal:       16777216 kB\nMemFree: 1 kB\nMemAvailable:   12582912 kB\n";

function rig(files: Record<string, string>) {
  const clock = createFakeClock();
  const read = async (path: string) => files[path] ?? null;
  return { clock, files, load: createHostLoad({ data_dir: tmpdir(), clock, read }) };
}

describe("host load (rules/workers#heartbeats)", () => {
  test("in a cgroup v2 with limits, percent of the limits", async () => {
    const dir = "/sys/fs/cgroup";
    const { clock, files, load } = rig({
      "/proc/meminfo": meminfo,
      "/proc/self/cgroup": "0::/\n",
      [`${dir}/cpu.max`]: "200000 100000\n",
      [`${dir}/cpu.stat`]: "usage_usec 1000000\nuser_usec 1\n",
      [`${dir}/memory.max`]: `${2 * GIB}\n`,
      [`${dir}/memory.current`]: `${1.5 * GIB}\n`,
      [`${dir}/memory.stat`]: `anon 1\ninactive_file ${0.5 * GIB}\n`,
    });
    expect(await load.sample()).toMatchObject({ cpu_percent: 0, mem_percent: 50 });
    files[`${dir}/cpu.stat`] = "usage_usec 16000000\n";
    await clock.advance(15_000);
    // 15 s of CPU time in 15 s on 2 CPUs.
    expect((await load.sample()).cpu_percent).toBe(50);
    files[`${dir}/cpu.stat`] = "usage_usec 46000000\n";
    await clock.advance(15_000);
    // 100 % now, smoothed: 0.7 × 50 + 0.3 × 100.
    expect((await load.sample()).cpu_percent).toBe(65);
  });

  test("in a cgroup v1 with limits, percent of the limits", async () => {
    const cpu = "/sys/fs/cgroup/cpu/docker/abc";
    const mem = "/sys/fs/cgroup/memory/docker/abc";
    const { clock, files, load } = rig({
      "/proc/meminfo": meminfo,
      "/proc/self/cgroup": "5:memory:/docker/abc\n2:cpu,cpuacct:/docker/abc\n0::/docker/abc\n",
      [`${cpu}/cpu.cfs_quota_us`]: "50000\n",
      [`${cpu}/cpu.cfs_period_us`]: "100000\n",
      [`${cpu}/cpuacct.usage`]: "0\n",
      [`${mem}/memory.limit_in_bytes`]: `${4 * GIB}\n`,
      [`${mem}/memory.usage_in_bytes`]: `${GIB}\n`,
      [`${mem}/memory.stat`]: "cache 5\ntotal_inactive_file 0\n",
    });
    expect((await load.sample()).mem_percent).toBe(25);
    files[`${cpu}/cpuacct.usage`] = "2000000000\n";
    await clock.advance(10_000);
    // 2 s of CPU time in 10 s on half a CPU.
    expect((await load.sample()).cpu_percent).toBe(40);
  });

  test("without limits, percent of the machine", async () => {
    const { clock, files, load } = rig({
      "/proc/meminfo": meminfo,
      "/proc/self/cgroup": "5:memory:/\n0::/\n",
      "/sys/fs/cgroup/cpu.max": "max 100000\n",
      "/sys/fs/cgroup/memory.max": "max\n",
      "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
      "/sys/fs/cgroup/memory/memory.usage_in_bytes": `${GIB}\n`,
      "/proc/stat": "cpu  0 0 0 1000 0 0 0 0 0 0\ncpu0 0 0 0 0\n",
    });
    expect((await load.sample()).mem_percent).toBe(25);
    files["/proc/stat"] = `cpu  ${1000 * navigator.hardwareConcurrency} 0 0 1000 0 0 0 0 0 0\n`;
    await clock.advance(40_000);
    expect((await load.sample()).cpu_percent).toBe(25);
  });

  test("the real files of this machine give percentages", async () => {
    const load = createHostLoad({ data_dir: tmpdir(), clock: createFakeClock() });
    for (const value of Object.values(await load.sample())) {
      expect(value).toBeGreaterThanOrEqual(0);
      expect(value).toBeLessThanOrEqual(100);
    }
  });

  test("what cannot be read keeps its last value", async () => {
    const load = createHostLoad({
      data_dir: "/no/such/directory",
      clock: createFakeClock(),
      read: async () => null,
    });
    expect(await load.sample()).toEqual({ cpu_percent: 0, mem_percent: 0, disk_pct: 0 });
  });
});
