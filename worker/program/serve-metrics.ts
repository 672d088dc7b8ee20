import { startMetricsListener } from "#worker/metrics/listener.ts";
import { createWorkerMetrics, type WorkerMetrics } from "#worker/metrics/worker-metrics.ts";
import type { WorkerDeps } from "./worker-deps.ts";

interface ServedMetrics {
  /** Absent where no address is set: then nothing is counted. */
  metrics: WorkerMetrics | undefined;
  stop(): Promise<void>;
}

/** Serves `/metrics` of this process, whatever it runs, for as long as it runs (rules/metrics#of-a-worker). */
export function serveMetrics({
  config,
  clock,
  log,
  version,
}: Pick<WorkerDeps, "config" | "clock" | "log" | "version">): ServedMetrics {
  const { address, token } = config.metrics;
  if (address === null) return { metrics: undefined, stop: async () => {} };
  const mode = config.agent.enabled ? "agent" : "worker";
  const metrics = createWorkerMetrics({ clock, log }, { version, mode });
  const { meters } = metrics;
  const listener = startMetricsListener({ address, token, meters, clock, log });
  return { metrics, stop: listener.stop };
}
