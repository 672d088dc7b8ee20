import { z } from "@hono/zod-openapi";
import { MAX_BATCH_ITEMS } from "../limits.ts";
import { Notes } from "./executor.ts";
import { Fingerprint } from "./fingerprint.ts";
import { LabelQuery, Labels } from "./labels.ts";
import { NextCursor, NumberCursor, QueryBoolean } from "./page.ts";

/** Longest task key in characters, and the JSON of `extra` in bytes. */
export const MAX_PK_LENGTH = 1_024;
export const MAX_EXTRA_BYTES = 1024 * 1024;
/** Levels of an `extra` or an output; Postgres gives up on JSON of some thousands. */
export const MAX_JSON_DEPTH = 500;
/** Runs of one answer (rules/pipeline-runs#list-runs). */
const MAX_RUNS = { all: 1_000, workload: 500 } as const;

export const TaskKey = z
  .string()
  .min(1)
  .max(MAX_PK_LENGTH)
  .refine((pk) => !pk.includes("\u0000"), { error: "must not contain NUL" })
  .refine((pk) => pk.isWellFormed(), { error: "must not contain half a surrogate pair" });

/** A task as it is submitted (rules/pipeline-tasks#fields-of-a-task). */
export const TaskIn = z
  .strictObject({
    pk: TaskKey,
    extra: z.record(z.string(), z.unknown()).nullable().optional(),
    priority: z.int().min(-1_000_000).max(1_000_000).optional(),
    run_at: z.iso.datetime({ offset: true }).nullable().optional(),
    max_attempts: z.int().min(1).max(1_000).optional(),
    labels: Labels.optional(),
    /** A duplicate if a task of this key was taken once before, even one that is gone. */
    once: z.boolean().optional(),
  })
  .openapi("TaskIn");
export type TaskIn = z.infer<typeof TaskIn>;

export const TaskBatch = z
  .strictObject({ items: z.array(TaskIn).max(MAX_BATCH_ITEMS) })
  .openapi("TaskBatch");

/** `duplicates`: keys that are pending, claimed or failed already, stand twice in the batch, or were taken once before. */
export const SubmitResult = z
  .object({ submitted: z.int(), duplicates: z.int(), pks_rejected: z.array(z.string()) })
  .openapi("SubmitResult");
export type SubmitResult = z.infer<typeof SubmitResult>;

export const TaskStatusQuery = z
  .strictObject({ pks: z.array(TaskKey).max(MAX_BATCH_ITEMS) })
  .openapi("TaskStatusQuery");

/** GET …/queue (rules/pipeline-queue#queue-counts). */
export const QueueCounts = z
  .object({ pending: z.int(), claimed: z.int(), failed: z.int(), total: z.int() })
  .openapi("QueueCounts");
export type QueueCounts = z.infer<typeof QueueCounts>;

export const QUEUE_STATES = ["pending", "claimed", "failed"] as const;
/** The state of tasks; `items` are those in the queue, `absent` counts the others. */
export const TaskStatus = z
  .object({
    pending: z.int(),
    claimed: z.int(),
    failed: z.int(),
    absent: z.int(),
    items: z.array(z.object({ pk: z.string(), state: z.enum(QUEUE_STATES) })),
  })
  .openapi("TaskStatus");
export type TaskStatus = z.infer<typeof TaskStatus>;
/** States to ask for: `ready` and `delayed` are the two kinds of pending tasks. */
const PEEK_STATES = [...QUEUE_STATES, "ready", "delayed"] as const;
export const QueueRow = z
  .object({
    pk: z.string(),
    state: z.enum(QUEUE_STATES),
    attempt: z.int(),
    max_attempts: z.int(),
    priority: z.int(),
    run_at: z.string(),
    worker_id: z.string().nullable(),
    claimed_at: z.string().nullable(),
    lease_until: z.string().nullable(),
    last_error: z.string().nullable(),
    extra: z.unknown(),
    created_at: z.string(),
    labels: z.record(z.string(), z.string()),
  })
  .openapi("QueueRow");
export type QueueRow = z.infer<typeof QueueRow>;
export const QueuePeek = z
  .object({ rows: z.array(QueueRow), next_offset: z.int().nullable(), ...NextCursor })
  .openapi("QueuePeek");
export const PeekQuery = z.object({
  state: z.enum(PEEK_STATES).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
  offset: z.coerce.number().int().min(0).max(1_000_000).openapi({ type: "integer" }).default(0),
  /** Rows after those of the previous page, no matter what left the queue in between. */
  cursor: NumberCursor.optional(),
  label: LabelQuery.optional(),
});

export const ResetFailed = z.object({ reset: z.int() }).openapi("ResetFailed");

const OUTCOMES = ["success", "error", "timeout", "lease_expired", "crashed", "cancelled"] as const;

/** A run (rules/pipeline-runs#fields-of-a-run). `output_json` on success, `error` otherwise. */
export const Run = z
  .object({
    run_id: z.int(),
    workload: z.string(),
    pk: z.string(),
    attempt: z.int(),
    success: z.boolean(),
    outcome: z.enum(OUTCOMES),
    worker_id: z.string().nullable(),
    started_at: z.string(),
    finished_at: z.string(),
    duration_ms: z.int(),
    output_json: z.unknown(),
    stdout: z.string(),
    stderr: z.string(),
    truncated: z.boolean(),
    error: z.string().nullable(),
    /** Names the failure: the same for runs that failed alike; null for others, and for failures recorded before there were fingerprints. */
    fingerprint: z.string().nullable(),
    /** Of the task that it was an attempt of. */
    labels: z.record(z.string(), z.string()),
    /** The task's notes (`ctx.progress` and `ctx.log`), including the last ones from a worker that died. */
    ...Notes.shape,
  })
  .openapi("Run");
export type Run = z.infer<typeof Run>;
/**
 * `next_before`: `before` of the next page, null on the last. A page may hold fewer runs than `limit`, or none, and
 * still have a next one, because one answer scans a limited number of runs.
 */
export const RunList = z
  .object({ runs: z.array(Run), next_before: z.int().nullable(), ...NextCursor })
  .openapi("RunList");
export type RunList = z.infer<typeof RunList>;

/** A run without its streams and its output. */
export const RunAttempt = Run.omit({
  output_json: true,
  stdout: true,
  stderr: true,
  progress: true,
  log: true,
  log_dropped: true,
}).openapi("RunAttempt");
export type RunAttempt = z.infer<typeof RunAttempt>;
/** A task with all its finished attempts, the oldest first. `task`: its row while it is in the queue. */
export const TaskHistory = z
  .object({
    workload: z.string(),
    pk: z.string(),
    task: QueueRow.nullable(),
    attempts: z.array(RunAttempt),
  })
  .openapi("TaskHistory");
export type TaskHistory = z.infer<typeof TaskHistory>;

const limitUpTo = (max: number) =>
  z.object({
    limit: z.coerce.number().int().min(1).max(max).default(50),
    /** Runs older than this one. */
    before: z.coerce.number().int().min(1).optional(),
    /** `next_cursor` of the page before. */
    cursor: NumberCursor.optional(),
    success: QueryBoolean.optional(),
    pk: TaskKey.optional(),
    outcome: z.enum(OUTCOMES).optional(),
    worker_id: z.string().min(1).max(200).optional(),
    label: LabelQuery.optional(),
    /** Runs that ended at `since` or later, and before `until`. */
    since: z.iso.datetime({ offset: true }).optional(),
    until: z.iso.datetime({ offset: true }).optional(),
    fingerprint: Fingerprint.optional(),
    /** Without their output, streams and notes: `output_json` is null, `stdout` and `stderr` are "", `log` is empty. */
    brief: QueryBoolean.default(false),
  });
export const AllRunsQuery = limitUpTo(MAX_RUNS.all);
export const WorkloadRunsQuery = limitUpTo(MAX_RUNS.workload);
export type RunsQuery = z.infer<typeof AllRunsQuery>;
