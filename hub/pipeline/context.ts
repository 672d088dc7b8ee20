import type { Rollout } from "#hub/platform/rollout/rollout.ts";
import type { AdminGate } from "#hub/platform/access/admin.ts";
import type { AuditLog } from "#hub/platform/access/audit/audit-log.ts";
import type { Logins } from "#hub/platform/access/logins.ts";
import type { Throttle } from "#hub/platform/access/throttle.ts";
import type { Tokens } from "#hub/platform/access/tokens.ts";
import type { Changes } from "#hub/platform/changes.ts";
import type { HubConfig } from "#hub/platform/config.ts";
import type { QueueStore } from "#hub/platform/db/queue/types.ts";
import type { Db, PullWorkerRow } from "#hub/platform/db/types.ts";
import type { RunningCalls } from "#hub/platform/idempotency/running-calls.ts";
import type { UpdateKey } from "#hub/platform/secrets/update-key.ts";
import type { Kv } from "#hub/platform/stores/kv.ts";
import type { ObjectStore } from "#hub/platform/stores/objects.ts";
import type { BackupContext } from "#hub/program/backups/backups.ts";
import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import type { Degraded } from "#shared/protocol/schema/health.ts";
import type { Operations } from "./operations/start.ts";
import type { Plugins } from "./plugins/registry.ts";
import type { RateWindows } from "./queue/rate-windows.ts";
import type { ReadyHints } from "./queue/ready-hints.ts";
import type { TurnQueue } from "./queue/turn.ts";
import type { Wakes } from "./queue/wakes.ts";
import type { WorkloadCache } from "./workloads/workload-cache.ts";

/** The running pipeline: what the calls of /api/v1 share. Opened by `startPipeline`. */
export interface Pipeline {
  readonly store: QueueStore;
  readonly turns: TurnQueue;
  readonly workloads: WorkloadCache;
  readonly ready: ReadyHints;
  readonly windows: RateWindows;
  readonly plugins: Plugins;
  /** Pull workers this process has heard of, by id: who a claim or report comes from. */
  readonly pullers: Map<string, PullWorkerRow>;
  /** Aborts when the control plane stops: waiting claims are answered with nothing. */
  readonly stopping: AbortSignal;
  /** To be called before the open connections are waited for: those of idle workers are waiting claims. */
  readonly stopWaiting: () => void;
  /** Tells the other control processes what they would find out by themselves, but later. */
  readonly tell: Wakes;
  /** Told that a workload has ready tasks: claims that wait for some are answered, at every control process. */
  readonly wake: (workload_id: number, ready: number) => void;
}

/** What the control plane's functions are given. */
export interface ControlContext {
  /** Signs what workers update to; null where its key cannot be had. */
  readonly update_key: UpdateKey | null;
  readonly config: HubConfig;
  readonly clock: Clock;
  readonly version: string;
  readonly log: Log;
  /** By which it may be called (`http/own-names.ts`). */
  readonly own_names: readonly string[];
  /** Scheduled backups; null where none are made. */
  readonly backups: BackupContext | null;
  /** What is stored here and takes nothing now. */
  readonly stores_health: { degraded(): Promise<Degraded[]> };
  readonly db: Pick<
    Db,
    | "ping"
    | "workloads"
    | "runs"
    | "run_notes"
    | "views"
    | "flow"
    | "gpus"
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
  /** Calls with an Idempotency-Key that are being answered. */
  readonly running_calls: RunningCalls;
  /** Commands on their way to workers, and what running tasks print: both are short-lived. */
  readonly kv: Kv;
  readonly objects: ObjectStore;
  readonly pipeline: Pipeline;
  readonly operations: Operations;
  /** Which worker takes which version when. */
  readonly rollout: Rollout;
  readonly admin: AdminGate;
  /** Tokens with roles. */
  readonly tokens: Tokens;
  /** Browsers that were let in. */
  readonly logins: Logins;
  /** Slows down whoever guesses. */
  readonly throttle: Throttle;
  /** Who changed what. */
  readonly audit: AuditLog;
  /** What open pages of the admin UI read again. */
  readonly changes: Changes;
  /** One line per call; too many to be kept with the service logs. */
  readonly access_log: Log;
}
