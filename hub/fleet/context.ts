import type { Pipeline } from "#hub/pipeline/context.ts";
import type { Operations } from "#hub/pipeline/operations/start.ts";
import type { AdminGate } from "#hub/platform/access/admin.ts";
import type { AuditLog } from "#hub/platform/access/audit/audit-log.ts";
import type { SignedLinks } from "#hub/platform/access/links/signed-links.ts";
import type { Logins } from "#hub/platform/access/logins.ts";
import type { Throttle } from "#hub/platform/access/throttle.ts";
import type { Tokens } from "#hub/platform/access/tokens.ts";
import type { Changes } from "#hub/platform/changes.ts";
import type { Cluster } from "#hub/platform/cluster/cluster.ts";
import type { HubConfig } from "#hub/platform/config.ts";
import type { Db, JobRow } from "#hub/platform/db/types.ts";
import type { RunningCalls } from "#hub/platform/idempotency/running-calls.ts";
import type { SealedObjects } from "#hub/platform/secrets/sealed-objects.ts";
import type { UpdateKey } from "#hub/platform/secrets/update-key.ts";
import type { KeptEntries } from "#hub/platform/stores/kept-files.ts";
import type { Kv } from "#hub/platform/stores/kv.ts";
import type { LaneLeases } from "#hub/platform/stores/leases.ts";
import type { ObjectStore } from "#hub/platform/stores/objects.ts";
import type { PubSub } from "#hub/platform/stores/pubsub.ts";
import type { BackupContext } from "#hub/program/backups/backups.ts";
import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import type { WallJumps } from "#shared/kit/wall-jumps.ts";
import type { ScriptTools } from "./codegen/tools.ts";
import type { Arrivals } from "./jobs/arrivals.ts";
import type { JobBus } from "./jobs/bus.ts";
import type { Dispatcher } from "./jobs/dispatcher.ts";
import type { Scripted } from "./jobs/scripted.ts";
import type { UnstoredResult } from "./jobs/unstored.ts";
import type { Webhooks } from "./jobs/webhook.ts";
import type { Awaited } from "./links/awaited.ts";
import type { CandidateTeller } from "./links/candidate.ts";
import type { FleetHooks } from "./links/hooks.ts";
import type { StoresHealth } from "./links/stores-health.ts";
import type { FleetCache } from "./links/view.ts";
import type { WorkerLink } from "./links/worker-link.ts";
import type { SettingsCache } from "./registries/fleet-settings.ts";
import type { Rollout } from "#hub/platform/rollout/rollout.ts";
import type { PendingCall } from "./sessions/calls.ts";
import type { HubSession } from "./sessions/types.ts";
import type { LaneWanted } from "./sessions/waiting.ts";

/** Moments a test waits for instead of sleeping; production ignores them. */
export type Signal =
  | "worker registered"
  | "link closed"
  | "link cut"
  | "link resumed"
  | "link taken up"
  | "link left"
  | "lane freed"
  | "job assigned"
  | "job requeued"
  | "job finished"
  | "session ended";

/** What the hub's functions are given; built once in `serve.ts`. */
export interface HubContext {
  readonly config: HubConfig;
  readonly log: Log;
  readonly clock: Clock;
  /** How old what was stored is, whatever the wall clock does. */
  readonly wall_jumps: WallJumps;
  /** Uniform in [0, 1): breaks ties between workers. */
  readonly random: () => number;
  readonly version: string;
  /** By which it may be called (`http/own-names.ts`). */
  readonly own_names: readonly string[];
  /** Names this hub among several, new at every start. */
  readonly hub_id: string;
  /** The other hubs of the fleet: who they are, and what is said to them. */
  readonly cluster: Cluster;
  readonly candidate: CandidateTeller;
  readonly db: Db;
  readonly kv: Kv;
  readonly leases: LaneLeases;
  /** What the next hub must know of links and sessions (`fleet/links/kept.ts`). */
  readonly kept: KeptEntries;
  /** Workers and sessions of the hub before this one that may still be taken up. */
  readonly awaited: Awaited;
  /** Messages between the hubs of a fleet. */
  readonly pubsub: PubSub;
  /** Where the other hubs reach this one; known once it listens. */
  readonly advertise: { url: string };
  /** Calls being passed on to other hubs. */
  readonly relays: { calls: number };
  readonly objects: ObjectStore;
  /** Signs what workers update to; null where its key cannot be had. */
  readonly update_key: UpdateKey | null;
  /** Profiles, and archives on their way to one: encrypted in `objects`. */
  readonly profile_archives: SealedObjects;
  /** Registered links by worker id. */
  readonly links: Map<string, WorkerLink>;
  /** Sockets that have not registered yet, with the time they were opened. */
  readonly handshakes: Map<{ close(code: number, reason: string): void }, number>;
  /** Sessions whose lane is on one of `links`, by id. */
  readonly sessions: Map<string, HubSession>;
  /** Calls of sessions that a worker has not answered yet, by call id. */
  readonly session_calls: Map<string, PendingCall>;
  /** POST /sessions calls waiting for a lane, oldest first. */
  readonly lanes_wanted: Set<LaneWanted>;
  /** Previews being taken, by session id. */
  readonly previews: Map<string, Promise<Uint8Array>>;
  /** The workload pipeline beside the fleet. */
  readonly pipeline: Pipeline;
  readonly operations: Operations;
  /** Which worker takes which version when. */
  readonly rollout: Rollout;
  readonly admin: AdminGate;
  readonly signed_links: SignedLinks;
  /** Tokens with roles. */
  readonly tokens: Tokens;
  /** Browsers that were let in. */
  readonly logins: Logins;
  /** Slows down whoever guesses. */
  readonly throttle: Throttle;
  /** Who changed what. */
  readonly audit: AuditLog;
  /** One line per call; too many to be kept with the service logs. */
  readonly access_log: Log;
  readonly fleet_cache: FleetCache;
  readonly stores_health: StoresHealth;
  /** Scheduled backups; null where none are made. */
  readonly backups: BackupContext | null;
  readonly hooks: FleetHooks;
  readonly bus: JobBus;
  readonly dispatcher: Dispatcher;
  readonly settings_cache: SettingsCache;
  readonly webhooks: Webhooks;
  /** What open pages of the admin UI read again. */
  readonly changes: Changes;
  readonly arrivals: Arrivals;
  /** POST /jobs calls waiting for their job: each is given the row once a worker has accepted it, or it has ended. */
  readonly waiters: Map<string, (row: JobRow) => void>;
  /** Scripted jobs and their runners. */
  readonly scripted: Scripted;
  /** What runs and plans scripts; tests put their own in. */
  readonly script_tools: ScriptTools;
  /** Results that could not be stored yet, by lease token; never more than there are lanes. */
  readonly unstored: Map<number, UnstoredResult>;
  /** Profiles that are being written, with who writes: one writer per name. */
  readonly profile_writers: Map<string, string>;
  /** Calls with an Idempotency-Key that run in this process. */
  readonly running_calls: RunningCalls;
  /** Ends the open event streams (1001) when the hub stops. */
  readonly streams: Set<() => Promise<void>>;
  /** Aborts when the hub is asked to stop: from now on nothing is assigned, and what runs has SVC_DRAIN_TIMEOUT_S. Its reason: until when. */
  readonly draining: AbortSignal;
  /** Aborts when that time is over: nobody waits for capacity any longer. */
  readonly stopping: AbortSignal;
  readonly signal: (name: Signal, data: Record<string, unknown>) => void;
}
