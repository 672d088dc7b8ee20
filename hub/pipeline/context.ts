import type { PlatformContext } from "#hub/platform/context.ts";
import type { QueueStore } from "#hub/platform/db/queue/queue-store.ts";
import type { PullWorkerRow } from "#hub/platform/db/rows.ts";
import type { Db } from "#hub/platform/db/storage.ts";
import type { Degraded } from "#shared/protocol/schema/health.ts";
import type { QueueTallies } from "./metrics/queue-tallies.ts";
import type { Operations } from "./operations/operations.ts";
import type { Plugins } from "./plugins/plugin-folder.ts";
import type { RateWindows } from "./queue/rate-windows.ts";
import type { ReadyHints } from "./queue/ready-hints.ts";
import type { TurnQueue } from "./queue/turn.ts";
import type { Wakes } from "./queue/wake-calls.ts";
import type { WorkloadCache } from "./workloads/workload-cache.ts";

/** The running pipeline: what the calls of /api/v1 share. Opened by `startPipeline`. */
export interface Pipeline {
  readonly store: QueueStore;
  readonly turns: TurnQueue;
  /** What the queue did here since the start. */
  readonly tallies: QueueTallies;
  readonly workloads: WorkloadCache;
  readonly ready: ReadyHints;
  readonly windows: RateWindows;
  readonly plugins: Plugins;
  /** Pull workers this process has heard of, by id: where a claim or report comes from. */
  readonly pullers: Map<string, PullWorkerRow>;
  /** Workers that have something to hear with a heartbeat: a claim of theirs that waits is answered now. */
  readonly wanted: Set<string>;
  /** Aborts when the control plane stops: waiting claims then get an empty answer. */
  readonly stopping: AbortSignal;
  /** Call it before waiting for open connections to close: idle workers hold theirs with waiting claims. */
  readonly stopWaiting: () => void;
  /** Tells the other control processes what they would otherwise find out later by themselves. */
  readonly tell: Wakes;
  /** A workload has ready tasks: claims that wait for some are answered, at every control process. */
  readonly wake: (workload_id: number, ready: number) => void;
}

/** What the pipeline's functions receive; the program builds it once. */
export interface PipelineContext extends PlatformContext {
  /** Stores that currently accept no writes. */
  readonly stores_health: { degraded(): Promise<Degraded[]> };
  readonly db: Pick<
    Db,
    | "ping"
    | "workloads"
    | "workload_versions"
    | "runs"
    | "run_notes"
    | "task_labels"
    | "search"
    | "saved_lists"
    | "views"
    | "triage"
    | "flow"
    | "gpus"
    | "cpu_minutes"
    | "schedules"
    | "retention"
    | "pull_workers"
    | "plugins"
    | "agents"
    | "supervised"
    | "worker_restarts"
    | "settings"
    | "service_logs"
    | "audit"
    | "deploys"
    | "idempotency"
    | "access"
  >;
  readonly pipeline: Pipeline;
  readonly operations: Operations;
}
