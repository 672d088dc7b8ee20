import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import { once } from "#shared/kit/once.ts";
import { addProcessMetrics } from "#shared/kit/process-metrics.ts";
import { createLaneMeters, type LaneMeters } from "./lane-meters.ts";
import { createMeters, type Meters } from "./meters.ts";
import { createTaskMeters, type TaskMeters } from "./task-meters.ts";
import { createUploadMeters, type UploadMeters } from "./upload-meters.ts";

/** What a worker counts; it exists only where SVC_METRICS_ADDR is set, so that it costs others nothing. */
export interface WorkerMetrics {
  readonly meters: Meters;
  /** Parts that this worker does not have are never asked for, and have no series. */
  lanes(): LaneMeters;
  uploads(): UploadMeters;
  tasks(): TaskMeters;
}

export function createWorkerMetrics(
  deps: { clock: Clock; log: Log },
  build: { version: string; mode: "worker" | "agent" },
): WorkerMetrics {
  const meters = createMeters(deps);
  addProcessMetrics(meters, build);
  return {
    meters,
    lanes: once(() => createLaneMeters(meters)),
    uploads: once(() => createUploadMeters(meters)),
    tasks: once(() => createTaskMeters(meters)),
  };
}
