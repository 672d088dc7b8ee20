import { readdir } from "node:fs/promises";
import { monitorEventLoopDelay } from "node:perf_hooks";

/** A gauge as hub and worker have it. */
interface ProcessGauge<L extends string> {
  set(value: number): void;
  set(labels: Partial<Record<L, string | number>>, value: number): void;
}

/** What was measured of many values: some quantiles since the last time, sum and number of all. */
export interface Quantiles {
  quantiles: readonly (readonly [quantile: string, value: number])[];
  sum: number;
  count: number;
}

/** What this file asks of the metrics of a hub (`hub/platform/metrics`) and of a worker (`worker/metrics`). */
export interface ProcessMeters<G> {
  gauge<L extends string = never>(
    name: string,
    help: string,
    labels?: readonly L[],
  ): ProcessGauge<L> & G;
  summary(name: string, help: string): { show(seen: Quantiles): void } & G;
  tally(name: string, help: string, value: () => number): void;
  reading(part: string, gauges: readonly G[], read: () => unknown): void;
}

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
export function addProcessMetrics<G>(metrics: ProcessMeters<G>, { version, mode }: Build): void {
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
  const delay = metrics.summary(
    "flotilla_event_loop_delay_seconds",
    "How late the event loop was; the quantiles are of the time since the scrape before",
  );
  const look = createDelays();
  metrics.reading("process", [rss, heap, fds, delay], async () => {
    const { rss: resident, heapUsed } = process.memoryUsage();
    rss.set(resident);
    heap.set(heapUsed);
    const open = await readdir("/proc/self/fd").catch(() => null);
    if (open !== null) fds.set(open.length);
    delay.show(look());
  });
}

/** Measures from the first look on; each look says what was seen since the one before. */
function createDelays(): () => Quantiles {
  let seen: ReturnType<typeof monitorEventLoopDelay> | null = null;
  const all = { sum: 0, count: 0 };
  return () => {
    if (seen === null) {
      seen = monitorEventLoopDelay({ resolution: 20 });
      seen.enable();
      return { quantiles: [], sum: 0, count: 0 };
    }
    const { count, mean, max } = seen;
    if (count === 0) return { quantiles: [], sum: all.sum, count: all.count };
    all.sum += (mean * count) / NS;
    all.count += count;
    const [half, late] = [seen.percentile(50) / NS, seen.percentile(99) / NS];
    seen.reset();
    return {
      quantiles: [
        ["0.5", half],
        ["0.99", late],
        ["1", max / NS],
      ],
      sum: all.sum,
      count: all.count,
    };
  };
}
