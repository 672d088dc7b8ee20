import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import type { Clock } from "#shared/kit/clock.ts";

/** Linux counts CPU time for user space in hundredths of a second on every machine that we support. */
const TICK_MS = 10;
/** Heartbeats come several times a second where leases are short; a longer span says more and costs less. */
const LEAST_SPAN_MS = 2_000;

/** CPU time of a process, its own and that of the children it has waited for. */
interface Used {
  pid: number;
  ppid: number;
  ticks: number;
}

/** /proc/<pid>/stat; the command may hold spaces and parentheses. */
export function parseUsed(text: string): Used | null {
  const close = text.lastIndexOf(")");
  if (close < 0) return null;
  const fields = text.slice(close + 2).split(" ");
  const at = (i: number) => Number(fields[i]);
  const used = {
    pid: Number.parseInt(text, 10),
    ppid: at(1),
    ticks: at(11) + at(12) + at(13) + at(14),
  };
  return Object.values(used).every(Number.isFinite) ? used : null;
}

/** Every process of this machine; null where there is no /proc. */
function readAll(): Used[] | null {
  try {
    return readdirSync("/proc").flatMap((name) => {
      if (!/^\d+$/.test(name)) return [];
      try {
        return parseUsed(readFileSync(`/proc/${name}/stat`, "latin1")) ?? [];
      } catch {
        return []; // ended meanwhile
      }
    });
  } catch {
    return null;
  }
}

/** What `pid` and its descendants have used so far. */
export function ticksOfTree(pid: number, all: readonly Used[]): number {
  const children = new Map<number, Used[]>();
  for (const one of all) children.set(one.ppid, [...(children.get(one.ppid) ?? []), one]);
  const own = all.find((one) => one.pid === pid);
  let sum = 0;
  const left = own ? [own] : [];
  for (let one = left.pop(); one; one = left.pop()) {
    sum += one.ticks;
    left.push(...(children.get(one.pid) ?? []));
  }
  return sum;
}

/**
 * CPU use of this process and all it started, in percent of every CPU, between two calls at least two seconds apart
 * (rules/pipeline-views#cpu-use). Null before there are two, and where the system does not report it.
 */
export function createProcessCpu(deps: {
  clock: Clock;
  pid?: number;
  cpus?: number;
  read?: () => Used[] | null;
}): () => number | null {
  const { clock, pid = process.pid, cpus = availableParallelism(), read = readAll } = deps;
  const sample = () => {
    const all = read();
    return all === null ? null : { at: clock.monotonic(), ticks: ticksOfTree(pid, all) };
  };
  let before = sample();
  let percent: number | null = null;
  return () => {
    if (before && clock.monotonic() - before.at < LEAST_SPAN_MS) return percent;
    const now = sample();
    if (before && now) {
      // Less than before: a process left the tree without its parent having waited for it.
      const used_ms = Math.max(0, now.ticks - before.ticks) * TICK_MS;
      const share = used_ms / ((now.at - before.at) * cpus);
      percent = Math.round(Math.min(1, share) * 1_000) / 10;
    }
    before = now;
    return percent;
  };
}
