import { z } from "@hono/zod-openapi";
import { CheckAnswer, Notes, ToldNotes } from "./executor.ts";
import {
  AttemptRef,
  MAX_CLAIM_WAIT_MS,
  WORKER_COMMANDS,
  WorkerCommand,
  WorkloadSettings,
} from "./pull.ts";
import { MAX_PK_LENGTH } from "./queue.ts";
import { Slug } from "./workload.ts";

/** The smaller calls of a worker's daemon (rules/pipeline-pull#poll-the-configuration). */

/** Body of POST /workers/{id}/admin-command. */
export const AdminCommand = z
  .strictObject({ command: z.enum(WORKER_COMMANDS) })
  .openapi("AdminCommand", { example: { command: "recycle" } });
const incarnation = z.string().min(8).max(64);

/** Body of POST /workers/{id}/config: answered when `revision` is not the current one, or after `wait_ms`. */
export const ConfigPoll = z
  .strictObject({
    incarnation,
    revision: z.string().max(64).default(""),
    wait_ms: z.int().min(0).max(MAX_CLAIM_WAIT_MS).default(0),
  })
  .openapi("ConfigPoll", { example: { incarnation: "b1946ac92492d234", wait_ms: 20_000 } });
/** `workloads`: those it may run now; `filter` null means every workload. */
export const WorkerConfig = z
  .object({
    revision: z.string(),
    heartbeat_ms: z.int(),
    drain: z.boolean(),
    filter: z.array(z.string()).nullable(),
    workloads: z.array(WorkloadSettings),
    commands: z.array(WorkerCommand),
  })
  .openapi("WorkerConfig");
export type WorkerConfig = z.infer<typeof WorkerConfig>;

/** Body of POST /workers/{id}/checks. */
export const AnswerCheck = z
  .strictObject({ incarnation, ...CheckAnswer.shape })
  .openapi("AnswerCheck", {
    example: {
      incarnation: "b1946ac92492d234",
      check_id: "0f1e2d3c4b5a6978",
      revision: "3.1795000000000",
      state: "broken",
      error: "ModuleNotFoundError: No module named 'thumbnails'",
      trace: "Traceback (most recent call last): …",
      ms: 210,
    },
  });

/** Leases of one answer: those that end first. */
export const MAX_LEASES = 500;
export const Lease = z
  .object({
    ...AttemptRef.shape,
    workload: z.string(),
    pk: z.string(),
    attempt: z.int(),
    claimed_at: z.string(),
    lease_until: z.string(),
  })
  .openapi("Lease");
export type Lease = z.infer<typeof Lease>;
/** Answer of GET /workers/{id}/leases. `at`: the time of the queue, which leases end by. */
export const Leases = z.object({ at: z.string(), leases: z.array(Lease) }).openapi("Leases");
export type Leases = z.infer<typeof Leases>;

/**
 * How many characters at the end of each stream of a running task are shown. All of a worker's fit into one JSON body.
 */
export const LIVE_TAIL = 8_192;
export const MAX_LIVE_RUNS = 64;
export const LiveRun = z
  .strictObject({
    ...AttemptRef.shape,
    workload: Slug,
    pk: z.string().min(1).max(MAX_PK_LENGTH),
    attempt: z.int().min(1),
    running_ms: z.int().min(0),
    stdout: z.string().max(LIVE_TAIL).default(""),
    stderr: z.string().max(LIVE_TAIL).default(""),
    /** The task's notes; left out while they have not changed since the last report. */
    notes: ToldNotes.optional(),
  })
  .openapi("LiveRun");
export type LiveRun = z.infer<typeof LiveRun>;
/** Body of POST /workers/{id}/runs/logs: everything that runs now, with its latest output. */
export const LiveLogs = z
  .strictObject({ incarnation, items: z.array(LiveRun).max(MAX_LIVE_RUNS) })
  .openapi("LiveLogs", { example: { incarnation: "b1946ac92492d234", items: [] } });
/** Answer of GET /workers/{id}/runs. `at`: when the worker reported it; null if it has not reported recently. */
export const LiveRuns = z
  .object({
    at: z.string().nullable(),
    runs: z.array(LiveRun.omit({ notes: true }).extend(Notes.shape)),
  })
  .openapi("LiveRuns");
export type LiveRuns = z.infer<typeof LiveRuns>;
