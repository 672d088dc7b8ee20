import { z } from "zod";
import { WORKER_ID } from "../ids.ts";
import { MAX_URL_LENGTH } from "../limits.ts";
import { CaptureReport, JobLogEntry } from "../schema/job.ts";
import { Capabilities, HostLoad, Lane } from "../schema/worker.ts";

/**
 * Messages of WS /workers/{worker_id}/link (fleet spec §6.2), one JSON object per text frame, discriminated by
 * `type`. An unknown type is logged and skipped; a known type that does not validate closes the link with 1008.
 * New fields are optional, so that versions can mix during a rolling update.
 */

/** Names an assignment for ever: a message whose token is not the job's current one is stale and changes nothing. */
const Assignment = z.object({ job_id: z.string().max(64), lease_token: z.int() });

export const Registration = z.object({
  type: z.literal("registration"),
  worker_id: z.string().regex(WORKER_ID),
  /** New at every start of the worker process: tells a reconnect from a restart, and two hosts from one. */
  instance_id: z.string().min(1).max(64),
  version: z.string().max(64),
  secret: z.string().max(1_024).optional(),
  address: z.string().max(253),
  hostname: z.string().max(253),
  capabilities: Capabilities,
  lanes: z.array(Lane).max(1_000),
  load: HostLoad,
  profiles: z.array(z.string()).max(10_000).default([]),
});
export type Registration = z.infer<typeof Registration>;

/** Sent about every 15 s. `in_flight` is what the worker runs; the hub's own count comes from lane leases. */
export const WorkerHeartbeat = z.object({
  type: z.literal("WorkerHeartbeat"),
  in_flight: z.int().min(0),
  load: HostLoad,
  lanes: z.array(Lane).max(1_000),
  profiles: z.array(z.string()).max(10_000).default([]),
});
export type WorkerHeartbeat = z.infer<typeof WorkerHeartbeat>;

/** A lane changed its state. `warm` with no job is what frees its lease. */
export const LaneChanged = z.object({ type: z.literal("LaneChanged"), lane: Lane });
export type LaneChanged = z.infer<typeof LaneChanged>;

export const JobAccepted = Assignment.extend({ type: z.literal("JobAccepted") });
export type JobAccepted = z.infer<typeof JobAccepted>;

/** The lane could not take the job (not warm any more); the hub puts the job back into the queue. */
export const JobRefused = Assignment.extend({
  type: z.literal("JobRefused"),
  reason: z.string().max(1_000),
});
export type JobRefused = z.infer<typeof JobRefused>;

/** Lines of the job's log, in order, batched by the worker (at most 100 ms old). */
export const JobLog = Assignment.extend({
  type: z.literal("JobLog"),
  entries: z.array(JobLogEntry).max(1_000),
});
export type JobLog = z.infer<typeof JobLog>;

/** The end of a run (spec: "result"), after every upload was answered. */
export const WorkerResult = Assignment.extend({
  type: z.literal("result"),
  status: z.enum(["completed", "failed"]),
  error: z.string().max(4_096).nullable(),
  stage: z.string().max(64).nullable(),
  http_status: z.int().nullable(),
  final_url: z.string().max(70_000).nullable(),
  title: z.string().max(4_096).nullable(),
  capture: CaptureReport.nullable(),
});
export type WorkerResult = z.infer<typeof WorkerResult>;

export const WorkerToHub = z.discriminatedUnion("type", [
  Registration,
  WorkerHeartbeat,
  LaneChanged,
  JobAccepted,
  JobRefused,
  JobLog,
  WorkerResult,
]);
export type WorkerToHub = z.infer<typeof WorkerToHub>;

/** The handshake's answer. `upload_token` is the bearer of /workers/{id}/jobs/…; it dies with the link. */
export const HubRegistered = z.object({
  type: z.literal("HubRegistered"),
  expected_worker_version: z.string(),
  upload_token: z.string(),
  /** HTTP base for uploads; the worker falls back to the address it dialled when this one does not answer. */
  public_base_url: z.string().nullable(),
  heartbeat_interval_ms: z.int().positive(),
});
export type HubRegistered = z.infer<typeof HubRegistered>;

export const HubAssignJob = Assignment.extend({
  type: z.literal("HubAssignJob"),
  lane_idx: z.int(),
  session_id: z.string(),
  url: z.string().max(MAX_URL_LENGTH),
  /** JobOptions with every default filled in and min_asset_size_bytes already resolved against the hub's setting. */
  options: z.record(z.string(), z.unknown()),
});
export type HubAssignJob = z.infer<typeof HubAssignJob>;

/** Stop the run: keep what is stored, reset the lane, send no result. */
export const HubCancelJob = Assignment.extend({
  type: z.literal("HubCancelJob"),
  reason: z.string().max(1_000),
});
export type HubCancelJob = z.infer<typeof HubCancelJob>;

/** Answers every `result`; `accepted: false` says that the lease was no longer the job's. */
export const HubResultAck = Assignment.extend({
  type: z.literal("HubResultAck"),
  accepted: z.boolean(),
});
export type HubResultAck = z.infer<typeof HubResultAck>;

/** Answers every heartbeat, so that the worker's receive-side watchdog (§8) sees a living hub. */
export const HubHeartbeatAck = z.object({ type: z.literal("HubHeartbeatAck") });

export const HubToWorker = z.discriminatedUnion("type", [
  HubRegistered,
  HubAssignJob,
  HubCancelJob,
  HubResultAck,
  HubHeartbeatAck,
]);
export type HubToWorker = z.infer<typeof HubToWorker>;

/** Close codes of the link. The reason travels as the close reason. */
export const LINK_CLOSE = {
  bad_message: 1008,
  too_big: 1009,
  going_away: 1001,
  bad_secret: 4401,
  duplicate_worker: 4409,
  replaced: 4410,
  liveness: 4408,
} as const;
/** §5.3: the reason a worker with another secret is sent away with. */
export const BAD_SECRET_REASON = "bad worker secret";
/** design/api.md: two live hosts with one worker_id. */
export const DUPLICATE_WORKER_REASON = "duplicate worker_id";
