import { availableParallelism } from "node:os";
import type { Clock } from "#shared/kit/clock.ts";
import { listProcesses, type ProcStat, TICK_MS, ticksOfTree } from "#shared/kit/proc.ts";

/** What counts of a process. */
type Used = Pick<ProcStat, "pid" | "ppid" | "ticks">;

/** Heartbeats come several times a second where leases are short; a longer span says more and costs less. */
const LEAST_SPAN_MS = 2_000;

/** Every process of this machine; null where there is no /proc. */
function readAll(): Used[] | null {
  const all = listProcesses();
  return all.length === 0 ? null : all;
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
