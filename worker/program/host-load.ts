import { readFile, statfs } from "node:fs/promises";
import { cpus } from "node:os";
import { type Clock, withDeadline } from "#shared/kit/clock.ts";
import type { HostLoad } from "#shared/protocol/schema/worker.ts";

/** A hung network file system must not hold up a heartbeat. */
const READ_DEADLINE_MS = 2_000;
/** cgroup v1 writes "no limit" as a number near 2^63. */
const NO_LIMIT = 2 ** 60;
/** Weight of the newest CPU sample: single spikes between two heartbeats mean little. */
const CPU_WEIGHT = 0.3;

/** Reads a small text file, or null. Replaced in tests. */
export type ReadText = (path: string) => Promise<string | null>;
const readText: ReadText = (path) => readFile(path, "utf8").catch(() => null);

/** CPU time used so far in microseconds and how many CPUs it may use. */
interface CpuUse {
  used_us: number;
  cpus: number;
}

const numberIn = (text: string | null, pattern: RegExp): number | null => {
  const found = text === null ? null : pattern.exec(text);
  return found?.[1] === undefined ? null : Number(found[1]);
};

/** Folders that may describe this process, nearest first: inside a container the path of the host does not exist. */
async function cgroupFolders(read: ReadText, controller: string): Promise<string[]> {
  const lines = ((await read("/proc/self/cgroup")) ?? "").split("\n").map((l) => l.split(":"));
  const own = (match: (names: string) => boolean) =>
    lines
      .find(([, names]) => match(names ?? "none"))
      ?.slice(2)
      .join(":");
  const v2 = own((names) => names === "");
  const v1 = own((names) => names.split(",").includes(controller));
  const folders: string[] = [];
  if (v1 !== undefined)
    for (const base of [`/sys/fs/cgroup/${controller}`, `/sys/fs/cgroup/cpu,cpuacct`])
      folders.push(`${base}${v1}`, base);
  if (v2 !== undefined) folders.push(`/sys/fs/cgroup${v2}`, "/sys/fs/cgroup");
  return folders.map((f) => f.replace(/\/+$/, ""));
}

/** Use and quota of our cgroup; null without a quota, because then the whole machine counts. */
async function cgroupCpu(read: ReadText): Promise<CpuUse | null> {
  for (const dir of await cgroupFolders(read, "cpu")) {
    const [quota2, period2] = ((await read(`${dir}/cpu.max`)) ?? "").trim().split(" ").map(Number);
    const used2 = numberIn(await read(`${dir}/cpu.stat`), /^usage_usec (\d+)/m);
    if (quota2 && period2 && used2 !== null) return { used_us: used2, cpus: quota2 / period2 };
    const quota1 = numberIn(await read(`${dir}/cpu.cfs_quota_us`), /^(\d+)/);
    const period1 = numberIn(await read(`${dir}/cpu.cfs_period_us`), /^(\d+)/);
    const used1 = numberIn(
      (await read(`${dir}/cpuacct.usage`)) ??
        (await read(`${dir.replace("/cgroup/cpu/", "/cgroup/cpuacct/")}/cpuacct.usage`)),
      /^(\d+)/,
    );
    if (quota1 && period1 && used1 !== null)
      return { used_us: used1 / 1000, cpus: quota1 / period1 };
  }
  return null;
}

/** Busy time of the whole machine from /proc/stat, in ticks of 10 ms. */
async function machineCpu(read: ReadText): Promise<CpuUse | null> {
  const line = /^cpu +([\d ]+)/m.exec((await read("/proc/stat")) ?? "")?.[1];
  if (line === undefined) return null;
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line
    .split(" ")
    .map(Number);
  const ticks = user + nice + system + irq + softirq + steal;
  return { used_us: ticks * 10_000, cpus: Math.max(1, cpus().length) };
}

/** Memory in use in percent of the cgroup's limit, or of the machine when there is none. Page cache counts as free. */
async function memPercent(read: ReadText): Promise<number> {
  const info = (await read("/proc/meminfo")) ?? "";
  const total = (numberIn(info, /^MemTotal: +(\d+)/m) ?? 0) * 1024;
  for (const dir of await cgroupFolders(read, "memory")) {
    const stat = await read(`${dir}/memory.stat`);
    const limit =
      numberIn(await read(`${dir}/memory.max`), /^(\d+)/) ??
      numberIn(await read(`${dir}/memory.limit_in_bytes`), /^(\d+)/);
    const used =
      numberIn(await read(`${dir}/memory.current`), /^(\d+)/) ??
      numberIn(await read(`${dir}/memory.usage_in_bytes`), /^(\d+)/);
    if (limit === null || used === null || limit >= NO_LIMIT || (total > 0 && limit > total))
      continue;
    const cache =
      numberIn(stat, /^total_inactive_file (\d+)/m) ?? numberIn(stat, /^inactive_file (\d+)/m);
    return percent(used - (cache ?? 0), limit);
  }
  const available = (numberIn(info, /^MemAvailable: +(\d+)/m) ?? 0) * 1024;
  return total === 0 ? 0 : percent(total - available, total);
}

/** Use of the file system that holds `path`, as `df` shows it: reserved blocks count as used. */
async function diskPercent(path: string): Promise<number> {
  const fs = await statfs(path);
  const used = fs.blocks - fs.bfree;
  return used + fs.bavail === 0 ? 0 : percent(used, used + fs.bavail);
}

const percent = (part: number, whole: number): number =>
  Math.round(Math.min(100, Math.max(0, (part / whole) * 100)) * 10) / 10;

export interface HostLoadSampler {
  /** Percent of the machine or of its cgroup (v1 or v2); CPU since the last call, smoothed. Never rejects. */
  sample(): Promise<HostLoad>;
}

/** Samples the load of this host for registration and heartbeats (rules/workers#heartbeats). */
export function createHostLoad(deps: {
  data_dir: string;
  clock: Clock;
  read?: ReadText;
}): HostLoadSampler {
  const read = deps.read ?? readText;
  let before: { at: number; use: CpuUse } | null = null;
  let last: HostLoad = { cpu_percent: 0, mem_percent: 0, disk_pct: 0 };

  const cpuPercent = async (): Promise<number> => {
    const use = (await cgroupCpu(read)) ?? (await machineCpu(read));
    const at = deps.clock.monotonic();
    const since = before;
    if (use === null) return last.cpu_percent;
    before = { at, use };
    if (since === null || at <= since.at) return last.cpu_percent;
    const now = percent(use.used_us - since.use.used_us, (at - since.at) * 1000 * use.cpus);
    const smooth =
      last.cpu_percent === 0 ? now : last.cpu_percent * (1 - CPU_WEIGHT) + now * CPU_WEIGHT;
    return Math.round(smooth * 10) / 10;
  };
  const within = (what: string, value: Promise<number>, fallback: number) =>
    withDeadline(what, READ_DEADLINE_MS, value, deps.clock).catch(() => fallback);

  return {
    sample: async () => {
      const [cpu_percent, mem_percent, disk_pct] = await Promise.all([
        within("reading cpu use", cpuPercent(), last.cpu_percent),
        within("reading memory use", memPercent(read), last.mem_percent),
        within("reading disk use", diskPercent(deps.data_dir), last.disk_pct),
      ]);
      last = { cpu_percent, mem_percent, disk_pct };
      return last;
    },
  };
}
