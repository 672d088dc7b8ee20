import { z } from "@hono/zod-openapi";
import { BrokenExecutor, CheckTask, MAX_BROKEN, ToldNotes } from "./executor.ts";
import { NextCursor } from "./page.ts";
import { MAX_PK_LENGTH, TaskIn } from "./queue.ts";
import { UpdateOrder, UpdateReport, WorkerUpdate } from "./updates.ts";
import { ExecutorConfig, ExecutorType, Slug } from "./workload.ts";

/** Name of a pull worker in paths. */
export const PULL_WORKER_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/;
/** Longest wait of a claim for work, in ms. */
export const MAX_CLAIM_WAIT_MS = 30_000;
/** A worker that has been silent for longer is shown as offline; its leases end by themselves. */
export const PULL_OFFLINE_MS = 30_000;
export const PULL_HEARTBEAT_MS = 5_000;
/**
 * A worker on the same host that has been silent for this long, over two heartbeats, is dead: a newcomer gets its name.
 */
export const PULL_DEAD_MS = 12_000;
export const MAX_SLOTS = 1_000;
/** Bytes of each stream of a run that are kept at its beginning and at its end. */
export const MAX_STREAM_BYTES = 512 * 1024;
/** UTF-16 units of a run's error. */
export const MAX_ERROR_LENGTH = 65_536;

export const GpuReading = z.strictObject({
  index: z.int().min(0).max(1_000),
  name: z.string().max(200),
  util_percent: z.number().nullable().default(null),
  mem_used_mb: z.number().nullable().default(null),
  mem_total_mb: z.number().nullable().default(null),
});
export type GpuReading = z.infer<typeof GpuReading>;

const incarnation = z.string().min(8).max(64);

/** Body of POST /workers/{id}/register. `incarnation`: new at every start of the process; leases belong to it. */
export const RegisterPull = z
  .strictObject({
    incarnation,
    /** The previous incarnation, which this process knows to be dead: its name is free immediately. */
    replaces: incarnation.optional(),
    host: z.string().min(1).max(253),
    slots: z.int().min(1).max(MAX_SLOTS),
    version: z.string().max(64),
    labels: z.record(z.string().max(100), z.string().max(1_000)).default({}),
    /** Its filter if the control plane does not know it yet; empty: every workload. */
    workloads: z.array(Slug).max(1_000).default([]),
    started_at: z.iso.datetime({ offset: true }).optional(),
  })
  .openapi("RegisterPull");
export type RegisterPull = z.infer<typeof RegisterPull>;
/**
 * Features that a control plane accepts beyond the first version of these calls: an older one refuses what it does not
 * know, so a worker sends only what is named here. `notes`: on reports and live runs; `snooze`: `retry_after_ms` of
 * what is released; `broken`: in heartbeats; `checks`: they are requested, and answered at `/workers/{id}/checks`;
 * `update`: in heartbeats, by a worker that updates by order.
 */
export const PULL_FEATURES = ["notes", "snooze", "broken", "checks", "update", "within"] as const;
export const RegisteredPull = z
  .object({
    worker_id: z.string(),
    heartbeat_ms: z.int(),
    version: z.string(),
    accepts: z.array(z.string()).default([]),
  })
  .openapi("RegisteredPull");

export const AttemptRef = z.strictObject({ task_id: z.int().min(1), epoch: z.int().min(1) });
const Printed = {
  duration_ms: z.int().min(0),
  stdout: z
    .string()
    .max(MAX_STREAM_BYTES + 1_000)
    .default(""),
  stderr: z
    .string()
    .max(MAX_STREAM_BYTES + 1_000)
    .default(""),
  truncated: z.boolean().default(false),
  /** The task's notes: `ctx.progress` and `ctx.log`. */
  notes: ToldNotes.optional(),
};
const Emitted = z.strictObject({
  workload: Slug,
  pk: z.string().min(1).max(MAX_PK_LENGTH),
  ...TaskIn.pick({ extra: true, priority: true, once: true }).shape,
});

/** A task that succeeded. `output` is any JSON; its `emit` is an {@link EmitList}, submitted with it. */
export const DoneItem = z.strictObject({
  ...AttemptRef.shape,
  ...Printed,
  output: z.unknown().optional(),
  /** The span of the attempt, as W3C Trace Context writes it: what it emits is within that. */
  traceparent: z.string().max(256).optional(),
});
export type DoneItem = z.infer<typeof DoneItem>;
export const EmitList = z.array(Emitted).max(10_000);
export type EmitList = z.infer<typeof EmitList>;

export const FailedItem = z.strictObject({
  ...AttemptRef.shape,
  ...Printed,
  workload: Slug,
  outcome: z.enum(["error", "timeout", "crashed"]).default("error"),
  error: z.string().max(MAX_ERROR_LENGTH),
  retry_after_ms: z.int().min(0).max(604_800_000).nullable().default(null),
  no_retry: z.boolean().default(false),
});
export type FailedItem = z.infer<typeof FailedItem>;

/**
 * A task given back without consuming an attempt. `retry_after_ms`: it asked to run later and waits that long (a
 * snooze, which is not a failure); `reason`: why, in its own words.
 */
export const ReleasedItem = z.strictObject({
  ...AttemptRef.shape,
  retry_after_ms: z.int().min(0).max(604_800_000).nullable().default(null),
  reason: z.string().max(MAX_ERROR_LENGTH).default(""),
});
export type ReleasedItem = z.infer<typeof ReleasedItem>;

const items = <T extends z.ZodType>(of: T) => z.array(of).max(10_000).default([]);
const Want = z.strictObject({
  slots: z.int().min(0).max(MAX_SLOTS),
  wait_ms: z.int().min(0).max(MAX_CLAIM_WAIT_MS).default(0),
  /** Revisions of the workloads whose settings the worker has: those are not sent again. */
  known: z.record(z.string().max(64), z.string().max(64)).default({}),
  /** Workloads it cannot run now, because their module does not load. */
  exclude: z.array(z.string().max(64)).max(10_000).default([]),
});
export type Want = z.infer<typeof Want>;

export const ClaimTasks = z.strictObject({ incarnation, ...Want.shape }).openapi("ClaimTasks");
export const CompleteTasks = z
  .strictObject({ incarnation, items: items(DoneItem) })
  .openapi("CompleteTasks");
export const FailTasks = z
  .strictObject({ incarnation, items: items(FailedItem) })
  .openapi("FailTasks");
/** Body of POST /workers/{id}/exchange: reports, then a claim, in one transaction. */
export const Exchange = z
  .strictObject({
    incarnation,
    done: items(DoneItem),
    failed: items(FailedItem),
    released: items(ReleasedItem),
    want: Want.prefault({ slots: 0 }),
  })
  .openapi("Exchange");
export type Exchange = z.infer<typeof Exchange>;

const ReportResult = z
  .object({
    task_id: z.int(),
    epoch: z.int(),
    status: z.enum(["ok", "stale"]),
    run_id: z.int().nullable(),
  })
  .openapi("ReportResult");
export const Reported = z.object({ items: z.array(ReportResult) }).openapi("Reported");

/**
 * The plugin of the control plane that a workload's code comes from. `sha256` names the version (the content hash of its
 * folder); null, with the reason in `error`, when it cannot be run. `path`: what the workload names inside the folder.
 */
export const PluginRef = z.object({
  slug: z.string(),
  sha256: z.string().nullable(),
  path: z.string(),
  error: z.string().nullable(),
});
export type PluginRef = z.infer<typeof PluginRef>;

/** What a worker must know about a workload to run its tasks; `executor_config` holds what its plugin adds. */
export const WorkloadSettings = z.object({
  slug: z.string(),
  revision: z.string(),
  executor_type: ExecutorType,
  executor_config: ExecutorConfig,
  batch_size: z.int(),
  lease_ms: z.int(),
  timeout_ms: z.int().nullable(),
  plugin: PluginRef.optional(),
});
export type WorkloadSettings = z.infer<typeof WorkloadSettings>;

/** Tasks for one slot. `lease_ms` from now; the worker counts it from when it sent the request, and `waited_ms` later. */
export const ClaimedBatch = z.object({
  workload: z.string(),
  revision: z.string(),
  lease_ms: z.int(),
  /** How long the control plane held the request before it claimed them; absent: not at all. */
  waited_ms: z.int().optional(),
  timeout_ms: z.int().nullable(),
  tasks: z.array(
    z.object({
      task_id: z.int(),
      epoch: z.int(),
      attempt: z.int(),
      max_attempts: z.int(),
      pk: z.string(),
      extra: z.unknown(),
      /** The span that its attempt happens within; absent where nothing is traced. */
      traceparent: z.string().max(256).optional(),
    }),
  ),
});
export type ClaimedBatch = z.infer<typeof ClaimedBatch>;
export const Claimed = z
  .object({ batches: z.array(ClaimedBatch), workloads: z.array(WorkloadSettings) })
  .openapi("Claimed");
export type Claimed = z.infer<typeof Claimed>;
/** `beat`: something waits for the worker's next heartbeat, which it should send now. */
export const Exchanged = Claimed.extend({
  results: z.array(ReportResult),
  beat: z.boolean().optional(),
}).openapi("Exchanged");

/** Body of POST /workers/{id}/heartbeat: renews the leases of everything in flight. */
export const PullHeartbeat = z
  .strictObject({
    incarnation,
    in_flight: z
      .array(z.strictObject({ ...AttemptRef.shape, workload: Slug }))
      .max(100_000)
      .default([]),
    /** CPU use of the worker with everything it started, and of its whole host; percent of all CPUs. */
    cpu_percent: z.number().min(0).max(100).nullable().default(null),
    host_cpu_percent: z.number().min(0).max(100).nullable().default(null),
    mem_percent: z.number().min(0).max(100).nullable().default(null),
    gpus: z.array(GpuReading).max(64).default([]),
    /** Every workload whose code the worker cannot load now. */
    broken: z.array(BrokenExecutor).max(MAX_BROKEN).default([]),
    /** Progress of the update, of a worker that updates by order. */
    update: z.strictObject({ report: UpdateReport.nullable() }).optional(),
  })
  .openapi("PullHeartbeat");
export type PullHeartbeat = z.infer<typeof PullHeartbeat>;
/**
 * Commands to a worker: `drain` stops its claims, `resume` restarts them, `recycle` replaces its warm
 * processes before their next task, `stop` drains it and ends its process (whose supervisor may restart it).
 */
export const WORKER_COMMANDS = ["drain", "resume", "recycle", "stop"] as const;
export const WorkerCommand = z
  .object({ command_id: z.string(), command: z.enum(WORKER_COMMANDS) })
  .openapi("WorkerCommand");
export type WorkerCommand = z.infer<typeof WorkerCommand>;

/**
 * A workload whose code the worker must load, and report on at `/workers/{id}/checks`. `task`: it is run too, within
 * `timeout_ms`. `draft`: nobody has saved the settings, so what is found says nothing about a workload.
 */
export const WaitingCheck = z.object({
  check_id: z.string(),
  workload: WorkloadSettings,
  task: CheckTask.optional(),
  timeout_ms: z.int().optional(),
  draft: z.boolean().optional(),
});
export type WaitingCheck = z.infer<typeof WaitingCheck>;

/** `lost`: tasks that are no longer this worker's (expired, cancelled or given away), which it must stop. */
export const PullHeartbeatAnswer = z
  .object({
    lost: z.array(AttemptRef),
    drain: z.boolean(),
    /** Version of the answering control plane; during an upgrade of several they differ. */
    version: z.string().optional(),
    /** For a worker that updates by order: the version it should have, and whether it is its turn. */
    update: UpdateOrder.optional(),
    /**
     * An operator's last command to this process, repeated for ten minutes: it has obeyed every command_id it has seen.
     */
    commands: z.array(WorkerCommand).default([]),
    /** Repeated until they are answered: the worker has begun every check_id it has seen. */
    checks: z.array(WaitingCheck).default([]),
  })
  .openapi("PullHeartbeatAnswer");

/** Item of GET /api/v1/workers (rules/pipeline-pull#list-pull-workers). */
export const PullWorker = z
  .object({
    id: z.string(),
    host: z.string(),
    state: z.enum(["active", "draining", "offline"]),
    version: z.string(),
    slots: z.int(),
    in_flight: z.int(),
    workloads: z.array(z.string()),
    filter: z.array(z.string()).nullable(),
    labels: z.record(z.string(), z.string()),
    cpu_percent: z.number().nullable(),
    host_cpu_percent: z.number().nullable(),
    mem_percent: z.number().nullable(),
    gpus: z.array(GpuReading),
    /** Workloads whose code it cannot load, with the reason. */
    broken: z.array(z.object({ workload: z.string(), error: z.string(), since: z.string() })),
    /** Null while it has the version it should have. */
    update: WorkerUpdate.nullish(),
    started_at: z.string(),
    last_heartbeat_at: z.string(),
  })
  .openapi("PullWorker");
export type PullWorker = z.infer<typeof PullWorker>;
export const PullWorkerList = z
  .object({ workers: z.array(PullWorker), total: z.int(), ...NextCursor })
  .openapi("PullWorkerList");

/** Body of POST /workers/{id}/filter. */
export const ChangeFilter = z
  .strictObject({
    op: z.enum(["replace", "add", "remove"]),
    workloads: z.array(Slug).max(1_000),
  })
  .openapi("ChangeFilter");
export type ChangeFilter = z.infer<typeof ChangeFilter>;
