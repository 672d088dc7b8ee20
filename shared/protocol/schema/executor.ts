import { z } from "@hono/zod-openapi";

/**
 * Whether the code of a workload loads (rules/pipeline-workloads#the-state-of-the-code), and notes of running tasks
 * (progress and log).
 */

/** UTF-16 units of the sentence that says why a module does not load, and of the traceback that comes with it. */
export const MAX_BROKEN_ERROR = 2_000;
export const MAX_BROKEN_TRACE = 8_192;
/** How many broken workloads one worker reports. */
export const MAX_BROKEN = 200;

/** A workload that a worker cannot run: its code does not load there. */
export const BrokenExecutor = z.strictObject({
  workload: z.string().min(1).max(63),
  /** Revision of the settings it was tried with: another revision has not been tried. */
  revision: z.string().max(64),
  error: z.string().max(MAX_BROKEN_ERROR),
  trace: z.string().max(MAX_BROKEN_TRACE).default(""),
  /** How long it has been broken, because the worker's own clock may be wrong. */
  broken_ms: z.int().min(0),
});
export type BrokenExecutor = z.infer<typeof BrokenExecutor>;

/** As stored with its worker; `since` in epoch ms of the control plane. */
export interface BrokenSince {
  workload: string;
  revision: string;
  error: string;
  trace: string;
  since: number;
}

/**
 * `broken` while a live worker cannot load the code of the workload's current settings. `error`, `trace` and `since` are
 * those of the worker on which it broke first.
 */
export const ExecutorState = z
  .object({
    state: z.enum(["ok", "broken"]),
    error: z.string().nullable(),
    trace: z.string().nullable(),
    since: z.string().nullable(),
    workers: z.array(z.object({ id: z.string(), host: z.string(), error: z.string() })),
  })
  .openapi("ExecutorState");
export type ExecutorState = z.infer<typeof ExecutorState>;

/** Bytes of the JSON of a test's `extra`, and of what is kept of its output and of each stream. */
export const CHECK_LIMITS = { extra: 64 * 1024, output: 64 * 1024, stream: 32 * 1024 } as const;

/** One task that is run as a test: it is in no queue, and no run is recorded. */
export const CheckTask = z
  .strictObject({
    pk: z.string().min(1).max(1_024).default("test"),
    extra: z
      .record(z.string(), z.unknown())
      .nullable()
      .default(null)
      .refine((extra) => JSON.stringify(extra).length <= CHECK_LIMITS.extra, {
        error: `must be at most ${CHECK_LIMITS.extra} characters of JSON`,
      }),
  })
  .openapi("CheckTask");
export type CheckTask = z.infer<typeof CheckTask>;

export const checking = {
  worker_id: z.string().min(1).max(100).optional(),
  timeout_s: z.number().min(1).max(120).default(60),
  task: CheckTask.optional(),
};
/** Body of POST /workloads/{slug}/check. `worker_id`: null leaves the choice to the control plane. */
export const CheckExecutor = z.strictObject(checking).openapi("CheckExecutor");

/** How the test's task ended. `truncated`: some of its output or of what it printed is not here. */
export const CheckRun = z
  .strictObject({
    outcome: z.enum(["success", "error", "timeout", "crashed", "snoozed"]),
    error: z.string().max(MAX_BROKEN_ERROR).nullable(),
    output: z.unknown(),
    stdout: z.string().max(CHECK_LIMITS.stream),
    stderr: z.string().max(CHECK_LIMITS.stream),
    log: z.array(z.object({ level: z.string().max(20), text: z.string().max(2_000) })).max(200),
    truncated: z.boolean(),
    duration_ms: z.int().min(0),
  })
  .openapi("CheckRun");
export type CheckRun = z.infer<typeof CheckRun>;

/** `unchecked`, for a workload that was just created: no worker could load its code, and `error` says why. */
export const ExecutorCheck = z
  .object({
    workload: z.string(),
    revision: z.string().nullable(),
    state: z.enum(["ok", "broken", "unchecked"]),
    error: z.string().nullable(),
    trace: z.string().nullable(),
    worker_id: z.string().nullable(),
    host: z.string().nullable(),
    /** How long loading took. */
    ms: z.int().nullable(),
    /** What became of the task; null when there was none, or the code does not load. */
    run: CheckRun.nullable().optional(),
  })
  .openapi("ExecutorCheck");
export type ExecutorCheck = z.infer<typeof ExecutorCheck>;

/** A worker's answer to a check. */
export const CheckAnswer = z.strictObject({
  check_id: z.string().min(8).max(64),
  revision: z.string().max(64),
  state: z.enum(["ok", "broken"]),
  error: z.string().max(MAX_BROKEN_ERROR).nullable(),
  trace: z.string().max(MAX_BROKEN_TRACE).nullable(),
  ms: z.int().min(0),
  run: CheckRun.nullable().optional(),
});
export type CheckAnswer = z.infer<typeof CheckAnswer>;

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
/** Lines of a task's log that are kept: its last ones. */
export const MAX_LOG_LINES = 200;
/** UTF-16 units of a line, and of the text of a progress report. */
export const MAX_LOG_LINE = 2_000;
export const MAX_PROGRESS_TEXT = 500;

/** A line that a task wrote with `ctx.log`; `ts` by the worker's clock. */
export const LogLine = z.strictObject({
  ts: z.iso.datetime(),
  level: z.enum(LOG_LEVELS),
  text: z.string().max(MAX_LOG_LINE),
});
export type LogLine = z.infer<typeof LogLine>;

/** A task's last `ctx.progress`: 0 to 1, and a text. */
export const Progress = z.strictObject({
  value: z.number().min(0).max(1),
  text: z.string().max(MAX_PROGRESS_TEXT),
});
export type Progress = z.infer<typeof Progress>;

/** A task's notes while it runs. `log_dropped`: how many earlier lines were not kept. */
export const Notes = z.strictObject({
  progress: Progress.nullable(),
  log: z.array(LogLine).max(MAX_LOG_LINES),
  log_dropped: z.int().min(0),
});
export type Notes = z.infer<typeof Notes>;
/**
 * The notes as a worker reports them. `seq` grows with every change: calls may arrive in another order than they left.
 */
export const ToldNotes = Notes.extend({ seq: z.int().min(1) });
export type ToldNotes = z.infer<typeof ToldNotes>;
