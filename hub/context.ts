import type { Clock } from "#shared/clock.ts";
import type { Log } from "#shared/log.ts";
import type { WallJumps } from "#shared/wall-jumps.ts";
import type { AuditLog } from "./audit/audit-log.ts";
import type { Changes } from "./changes.ts";
import type { Cluster } from "./cluster/cluster.ts";
import type { ScriptTools } from "./codegen/tools.ts";
import type { HubConfig } from "./config.ts";
import type { Pipeline } from "./control/context.ts";
import type { AdminGate } from "./control/operations/admin.ts";
import type { BackupContext } from "./control/operations/backups.ts";
import type { Logins } from "./control/operations/logins.ts";
import type { Operations } from "./control/operations/start.ts";
import type { Throttle } from "./control/operations/throttle.ts";
import type { Tokens } from "./control/operations/tokens.ts";
import type { Db, JobRow } from "./db/types.ts";
import type { Awaited } from "./fleet/awaited.ts";
import type { CandidateTeller } from "./fleet/candidate.ts";
import type { FleetHooks } from "./fleet/hooks.ts";
import type { StoresHealth } from "./fleet/stores-health.ts";
import type { FleetCache } from "./fleet/view.ts";
import type { WorkerLink } from "./fleet/worker-link.ts";
import type { Arrivals } from "./jobs/arrivals.ts";
import type { JobBus } from "./jobs/bus.ts";
import type { Dispatcher } from "./jobs/dispatcher.ts";
import type { RunningCalls } from "./jobs/running-calls.ts";
import type { Scripted } from "./jobs/scripted.ts";
import type { UnstoredResult } from "./jobs/unstored.ts";
import type { Webhooks } from "./jobs/webhook.ts";
import type { SignedLinks } from "./links/signed-links.ts";
import type { SettingsCache } from "./registries/fleet-settings.ts";
import type { Rollout } from "./rollout/rollout.ts";
import type { SealedObjects } from "./secrets/sealed-objects.ts";
import type { UpdateKey } from "./secrets/update-key.ts";
import type { PendingCall } from "./sessions/calls.ts";
import type { HubSession } from "./sessions/types.ts";
import type { LaneWanted } from "./sessions/waiting.ts";
import type { KeptEntries } from "./stores/kept-files.ts";
import type { Kv } from "./stores/kv.ts";
import type { LaneLeases } from "./stores/leases.ts";
import type { ObjectStore } from "./stores/objects.ts";
import type { PubSub } from "./stores/pubsub.ts";

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
  /** What the next hub must know of links and sessions (`fleet/kept.ts`). */
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
