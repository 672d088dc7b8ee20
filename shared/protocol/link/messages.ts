import { z } from "zod";
import { EgressOption } from "../egress.ts";
import { WORKER_ID } from "../ids.ts";
import { MAX_URL_LENGTH } from "../limits.ts";
import { ProxyOption } from "../proxy.ts";
import { Viewport } from "../schema/browser-options.ts";
import { StoredCookie } from "../schema/cookie.ts";
import { DialogPolicy } from "../schema/dialog.ts";
import { CaptureReport, FinalState, JobLogEntry } from "../schema/job.ts";
import { ProfileRef } from "../schema/profile.ts";
import { LoginRecipe, PopupPolicy, Recipe } from "../schema/recipe.ts";
import { RecordMode } from "../schema/record-mode.ts";
import { ReplayClock } from "../schema/replay.ts";
import { ActionError } from "../schema/session.ts";
import { UpdateOrder, UpdateReport } from "../schema/updates.ts";
import { Capabilities, HostLoad, Lane } from "../schema/worker.ts";
import { sentBrowser } from "./sent-browser-options.ts";
import { SessionPlace } from "./session-place.ts";
import { HubRunEvents, HubViewerEvents } from "./told.ts";

/**
 * Messages of WS /workers/{worker_id}/link (rules/worker-link#link), one JSON object per text frame, discriminated by
 * `type`. An unknown type is logged and skipped; a known type that does not validate closes the link with 1008.
 * New fields are optional, so that versions can mix during a rolling update.
 *
 * A link outlives its socket for SVC_LINK_GRACE_S: both sides count what they receive (`isCounted`), keep what they sent
 * until it is confirmed, and send the rest on the next socket.
 */

/** Names an assignment forever: a message whose token is not the job's current one is stale and changes nothing. */
const Assignment = z.object({ job_id: z.string().max(64), lease_token: z.int() });

/** A lane in use: its session, the lease it has, and the job whose result the hub has not confirmed yet, if there is one. */
export const LaneHeld = z.object({
  lane_idx: z.int().min(0),
  session_id: z.string().max(64),
  lease_token: z.int(),
  job_id: z.string().max(64).nullable(),
  /** The job has given its lane back and is still uploading (JobUploading). */
  uploading: z.boolean().nullish(),
});
export type LaneHeld = z.infer<typeof LaneHeld>;

export const Registration = z.object({
  type: z.literal("registration"),
  worker_id: z.string().regex(WORKER_ID),
  /** New at every start of the worker process: tells a reconnect from a restart, and two hosts from one. */
  instance_id: z.string().min(1).max(64),
  version: z.string().max(64),
  secret: z.string().max(1_024).optional(),
  address: z.string().max(253),
  hostname: z.string().max(253),
  /** `hostId()` of the worker: whether it shares a host with its hub. */
  host_id: z.string().max(64).nullish(),
  capabilities: Capabilities,
  lanes: z.array(Lane).max(1_000),
  load: HostLoad,
  profiles: z.array(z.string()).max(10_000).default([]),
  update: UpdateReport.nullish(),
  /** It takes another version only when `UpdateOrder` says so; earlier versions go by `expected_worker_version`. */
  waits_for_order: z.boolean().nullish(),
  /**
   * The link this process had, by its upload_token, and how many of its messages came: the hub goes on with it where it can.
   * Null: there was none. Absent: this version cannot resume links.
   */
  resume: z
    .object({
      upload_token: z.string().max(64),
      received: z.int().min(0),
      /** Messages of this process that the hub has confirmed: the others can be sent again. */
      acknowledged: z.int().min(0).nullish(),
      /** What runs here, so that a restarted hub can take it up. Absent: this version cannot tell. */
      holds: z.array(LaneHeld).max(1_000).nullish(),
    })
    .nullish(),
});
export type Registration = z.infer<typeof Registration>;

/** Sent about every 15 s. `in_flight` is what the worker runs; the hub's own count comes from lane leases. */
export const WorkerHeartbeat = z.object({
  type: z.literal("WorkerHeartbeat"),
  in_flight: z.int().min(0),
  load: HostLoad,
  lanes: z.array(Lane).max(1_000),
  profiles: z.array(z.string()).max(10_000).default([]),
  update: UpdateReport.nullish(),
  /** How many of the hub's messages were received on this link so far. */
  received: z.int().min(0).nullish(),
});
export type WorkerHeartbeat = z.infer<typeof WorkerHeartbeat>;

/** A lane changed its state. `warm` with no job is what frees its lease. */
const LaneChanged = z.object({ type: z.literal("LaneChanged"), lane: Lane });

const JobAccepted = Assignment.extend({ type: z.literal("JobAccepted") });

/** The lane could not take the job (it is no longer warm); the hub puts the job back into the queue. */
const JobRefused = Assignment.extend({
  type: z.literal("JobRefused"),
  reason: z.string().max(1_000),
});

/** Lines of the job's log, in order, batched by the worker (at most 100 ms old). */
export const JobLog = Assignment.extend({
  type: z.literal("JobLog"),
  entries: z.array(JobLogEntry).max(1_000),
});
export type JobLog = z.infer<typeof JobLog>;

/** A scripted job's page is open: the hub may run its script on the job's session until it sends HubEndRun. */
const RunReady = Assignment.extend({ type: z.literal("RunReady") });

/**
 * The run is over and its lane is being given back, but the hub cannot store anything now: what was captured waits on
 * the worker, and comes under the same lease before the `result`. Sent only to a hub that reports `late_uploads`.
 */
const JobUploading = Assignment.extend({ type: z.literal("JobUploading") });

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
  /** Absent or null: none was taken. */
  final_state: FinalState.nullish(),
});
export type WorkerResult = z.infer<typeof WorkerResult>;

/** Names a session opened on a lane; a message whose token is not the lane's current lease is stale. */
const SessionOnLane = z.object({ session_id: z.string().max(64), lease_token: z.int() });

/** The lane's browser is up and the session's page open; actions, CDP and viewer may connect. */
export const SessionOpened = SessionOnLane.extend({
  type: z.literal("SessionOpened"),
  url: z.string().max(70_000),
  title: z.string().max(4_096),
});
export type SessionOpened = z.infer<typeof SessionOpened>;

/** The session could not be opened: `lane` the lane was not free (try another), `page` its request failed. */
export const SessionRefused = SessionOnLane.extend({
  type: z.literal("SessionRefused"),
  kind: z.enum(["lane", "page"]),
  reason: z.string().max(4_096),
});
export type SessionRefused = z.infer<typeof SessionRefused>;

/** The session ended on the worker's side: its browser died, or it lost its lane. The lane resets afterwards. */
export const SessionEnded = SessionOnLane.extend({
  type: z.literal("SessionEnded"),
  reason: z.string().max(1_000),
});
export type SessionEnded = z.infer<typeof SessionEnded>;

/**
 * Name of the error for a call that comes while the session's browser starts: worth another try (503). Its kind is
 * `broken`, because a hub of an earlier version would cut the link over a kind that it does not know.
 */
export const BROWSER_STARTING = "BrowserStarting";

/**
 * The answer to a HubSessionCall. `result` inline, or `blob`: the id under which the worker's bridge gives the bytes of
 * the JSON result. `kind` of a failure: `page` what the page refused (422), `timeout` (504), `gone` the session is not
 * on this worker (404), `invalid` arguments (422), `broken` anything else (502).
 */
export const SessionReply = z.object({
  type: z.literal("SessionReply"),
  call_id: z.string().max(64),
  ok: z.boolean(),
  result: z.unknown(),
  blob: z.string().max(64).nullable().default(null),
  kind: z.enum(["page", "timeout", "gone", "invalid", "broken"]).nullable().default(null),
  error: ActionError.nullable().default(null),
  place: SessionPlace.nullable().default(null),
  ms: z.number(),
});
export type SessionReply = z.infer<typeof SessionReply>;

export const WorkerToHub = z.discriminatedUnion("type", [
  Registration,
  WorkerHeartbeat,
  LaneChanged,
  JobAccepted,
  JobRefused,
  JobLog,
  RunReady,
  JobUploading,
  WorkerResult,
  SessionOpened,
  SessionRefused,
  SessionEnded,
  SessionReply,
]);
export type WorkerToHub = z.infer<typeof WorkerToHub>;

/** What no lane may open: ports `from` to `to` of a host, a name or an address without brackets. */
export const FleetPlace = z.object({
  host: z.string().max(253),
  from: z.int().min(1).max(65_535),
  to: z.int().min(1).max(65_535),
  is: z.enum(["hub", "control", "bridge"]),
});
export type FleetPlace = z.infer<typeof FleetPlace>;
const FleetPlaces = z.array(FleetPlace).max(10_000).nullish();

/** The handshake's answer. `upload_token` names the link, is the bearer of /workers/{id}/jobs/…, and dies with the link. */
export const HubRegistered = z.object({
  type: z.literal("HubRegistered"),
  /** The hub's own version (rules/worker-link#welcome). */
  expected_worker_version: z.string(),
  /** Absent in hubs of earlier versions: then `expected_worker_version` must be taken immediately. */
  update: UpdateOrder.nullish(),
  upload_token: z.string(),
  /** HTTP base for uploads; the worker falls back to the address it dialled when this one does not answer. */
  public_base_url: z.string().nullable(),
  heartbeat_interval_ms: z.int().positive(),
  /** Bodies of at least this many bytes may go straight into the object store; absent: none may. */
  direct_uploads_from: z.int().positive().nullish(),
  /** Whether a job may keep uploading after it has given its lane back (JobUploading). */
  late_uploads: z.boolean().nullish(),
  /** How long a link without a socket is kept; 0 or absent: not at all. */
  link_grace_ms: z.int().min(0).nullish(),
  /** Hubs and viewer bridges of the fleet, which lanes never open. */
  fleet_places: FleetPlaces,
  /** This is the link named in `resume`: the hub has received this many of its messages. Absent: a new link. */
  resumed: z.object({ received: z.int().min(0) }).nullish(),
});
export type HubRegistered = z.infer<typeof HubRegistered>;

/** What the hub adds to a run from its registries. Secrets live in memory only: they are never stored or logged. */
export const RunExtras = z.object({
  profile: ProfileRef.nullable().default(null),
  /** Cookies of the host registry, injected before the first navigation. */
  cookies: z.array(StoredCookie).default([]),
  recipe: Recipe.nullable().default(null),
  login_recipe: LoginRecipe.nullable().default(null),
  popup_policy: PopupPolicy.default("allow"),
  /** Values of the `${ENV:NAME}` placeholders the recipes use. */
  secrets: z.record(z.string(), z.string()).default({}),
  /** Hosts where each may be entered; one that is not listed, only on the host of the job's URL. */
  secret_hosts: z.record(z.string(), z.array(z.string())).default({}),
  /**
   * The proxy that the run goes out through, with its login; null: the worker decides. `proxy_of`: where it was
   * configured.
   */
  proxy: ProxyOption.nullable().default(null),
  proxy_of: z.enum(["job", "host"]).default("job"),
  /** Whether the page is to be pictured at the end; a hub of an earlier version stores no pictures, and says nothing. */
  final_state: z.boolean().default(false),
  /** attach_to_job: run in this live session's browser instead of a plain one. */
  in_session: z.string().max(64).nullable().default(null),
  ...sentBrowser,
});
export type RunExtras = z.infer<typeof RunExtras>;

export const HubAssignJob = Assignment.extend({
  type: z.literal("HubAssignJob"),
  lane_idx: z.int(),
  session_id: z.string(),
  url: z.string().max(MAX_URL_LENGTH),
  /** JobOptions with every default filled in and min_asset_size_bytes already resolved against the hub's setting. */
  options: z.record(z.string(), z.unknown()),
  extras: RunExtras.prefault({}),
  /** What to record of it; absent in hubs of earlier versions, which take no recordings. */
  record: RecordMode.nullish(),
  /** The span of the job, as W3C Trace Context writes it; absent where nothing is traced. */
  traceparent: z.string().max(256).optional(),
});
export type HubAssignJob = z.infer<typeof HubAssignJob>;

/** Stop the run: keep what is stored, reset the lane, send no result. */
export const HubCancelJob = Assignment.extend({
  type: z.literal("HubCancelJob"),
  reason: z.string().max(1_000),
});
export type HubCancelJob = z.infer<typeof HubCancelJob>;

/** Ends a scripted run: the page is saved, everything is uploaded, and a `result` is sent. */
export const HubEndRun = Assignment.extend({
  type: z.literal("HubEndRun"),
  status: z.enum(["completed", "failed"]),
  error: z.string().max(4_096).nullable(),
  /** Where a failed run ended; null leaves it to the worker. */
  stage: z.string().max(64).nullable(),
});
export type HubEndRun = z.infer<typeof HubEndRun>;
export type RunEnd = Pick<HubEndRun, "status" | "error" | "stage">;

/** Answers every `result`; `accepted: false` means that the job no longer had the lease. */
export const HubResultAck = Assignment.extend({
  type: z.literal("HubResultAck"),
  accepted: z.boolean(),
});
export type HubResultAck = z.infer<typeof HubResultAck>;

/**
 * Answers every heartbeat, so that the worker's receive-side watchdog (rules/workers#silence-watchdog) sees a living hub;
 * also sent in between after many messages, or with a new order. `received`: how many of the worker's messages were
 * received on this link so far.
 */
export const HubHeartbeatAck = z.object({
  type: z.literal("HubHeartbeatAck"),
  received: z.int().min(0).nullish(),
  update: UpdateOrder.nullish(),
  /** Sent when it differs from the one last sent on this link. */
  fleet_places: FleetPlaces,
});

/** Take the lane for a session that no job owns. Answered by SessionOpened or SessionRefused. */
export const HubOpenSession = SessionOnLane.extend({
  type: z.literal("HubOpenSession"),
  lane_idx: z.int(),
  url: z.string().max(MAX_URL_LENGTH).nullable(),
  headless: z.boolean(),
  viewport: Viewport.nullable(),
  profile: ProfileRef.nullable(),
  dialog_policy: DialogPolicy.default("wait"),
  record: RecordMode.nullish(),
  egress: EgressOption.nullable().default(null),
  /** As in RunExtras. */
  proxy: ProxyOption.nullable().default(null),
  proxy_of: z.enum(["job", "host"]).default("job"),
  /** Show the capture of this job. Sent only to workers that report `replay`. */
  replay: z.string().max(64).nullish(),
  /** Absent: `now`. Sent only to workers that report `replay_clock`. */
  replay_clock: ReplayClock.nullish(),
  /** Trace what its actions do. Sent only to workers that report `trace`. */
  trace: z.boolean().nullish(),
  /** Keep the bodies that its pages receive. Sent only to workers that report `session_bodies`. */
  capture: z.boolean().nullish(),
  ...sentBrowser,
});
export type HubOpenSession = z.infer<typeof HubOpenSession>;

/** End the session, whoever opened it, and reset its lane. */
export const HubCloseSession = SessionOnLane.extend({
  type: z.literal("HubCloseSession"),
  reason: z.string().max(1_000),
});
export type HubCloseSession = z.infer<typeof HubCloseSession>;

/**
 * One operation on a session, answered by one SessionReply. `action`: a name of SESSION_ACTIONS, or one of the hub's own
 * (`state`, `cookies_get`, `cookies_put`, `cookies_clear`, `network`, `files`, `preview`, `snapshot`, `profile_save`,
 * `run_reset`, `run_capture`, `take_name`, `record_input`, `recorded_input`, `one_shot`).
 */
export const HubSessionCall = z.object({
  type: z.literal("HubSessionCall"),
  call_id: z.string().max(64),
  session_id: z.string().max(64),
  action: z.string().max(64),
  args: z.record(z.string(), z.unknown()),
  timeout_ms: z.int().positive(),
  /** Whose action it is, for recordings. Absent in hubs of earlier versions, and for their own calls. */
  by: z.enum(["api", "script"]).optional(),
  /** The span that it happens within. */
  traceparent: z.string().max(256).optional(),
});
export type HubSessionCall = z.infer<typeof HubSessionCall>;

/**
 * Arguments of the call `run_reset`, between two attempts of a script. `fresh`: cookies and storage are the job's own, and
 * are restored to what they were before its first attempt.
 */
export const RunReset = z.object({
  url: z.string().max(MAX_URL_LENGTH),
  fresh: z.boolean(),
  cookies: z.array(StoredCookie),
});
/** Arguments of the call `take_name`: what a script wants to call a file it saves. */
export const TakeName = z.object({ name: z.string().max(255), mime: z.string().max(255) });

export const HubToWorker = z.discriminatedUnion("type", [
  HubRegistered,
  HubAssignJob,
  HubCancelJob,
  HubEndRun,
  HubResultAck,
  HubHeartbeatAck,
  HubOpenSession,
  HubCloseSession,
  HubSessionCall,
  HubViewerEvents,
  HubRunEvents,
]);
export type HubToWorker = z.infer<typeof HubToWorker>;
