import { readdir } from "node:fs/promises";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Metrics } from "./metrics.ts";

const NS = 1e9;
const US = 1e6;

interface Build {
  readonly version: string;
  /** `hub`, `control` or `worker`. */
  readonly mode: string;
}

/**
 * What every process tells of itself, under the names that Prometheus' clients share. The delay of the event loop is
 * measured from the first scrape on, so that it costs nothing where nobody scrapes.
 */
export function addProcessMetrics(metrics: Metrics, { version, mode }: Build): void {
  metrics
    .gauge("flotilla_build_info", "1; its labels say what runs", ["version", "mode", "bun"])
    .set({ version, mode, bun: Bun.version }, 1);
  metrics
    .gauge("process_start_time_seconds", "When the process started, in seconds since 1970")
    .set(Math.round(Date.now() / 1_000 - process.uptime()));
  metrics.tally("process_cpu_seconds_total", "User and system CPU time of the process", () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / US;
  });
  const rss = metrics.gauge("process_resident_memory_bytes", "Resident memory of the process");
  const heap = metrics.gauge("flotilla_heap_used_bytes", "Memory that the program's objects use");
  const fds = metrics.gauge("process_open_fds", "Open files and sockets");
  const delay = metrics.gauge(
    "flotilla_event_loop_delay_seconds",
    "How late the event loop was since the scrape before",
    ["quantile"],
  );
  let seen: ReturnType<typeof monitorEventLoopDelay> | null = null;
  metrics.reading("process", [rss, heap, fds, delay], async () => {
    const { rss: resident, heapUsed } = process.memoryUsage();
    rss.set(resident);
    heap.set(heapUsed);
    const open = await readdir("/proc/self/fd").catch(() => null);
    if (open !== null) fds.set(open.length);
    if (seen === null) {
      seen = monitorEventLoopDelay({ resolution: 20 });
      seen.enable();
      return;
    }
    if (seen.count > 0)
      for (const [quantile, ns] of [
        ["0.5", seen.percentile(50)],
        ["0.99", seen.percentile(99)],
        ["1", seen.max],
      ] as const)
        delay.set({ quantile }, ns / NS);
    seen.reset();
  });
}
