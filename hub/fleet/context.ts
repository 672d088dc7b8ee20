import type { SignedLinks } from "#hub/platform/access/links/signed-links.ts";
import type { ClusterContext, PlatformContext } from "#hub/platform/context.ts";
import type { JobRow } from "#hub/platform/db/rows.ts";
import type { Db } from "#hub/platform/db/storage.ts";
import type { SealedObjects } from "#hub/platform/secrets/sealed-objects.ts";
import type { KeptEntries } from "#hub/platform/stores/kept-files.ts";
import type { LaneLeases } from "#hub/platform/stores/leases.ts";
import type { PubSub } from "#hub/platform/stores/pubsub.ts";
import type { ScriptTools } from "./codegen/tools.ts";
import type { Arrivals } from "./jobs/arrivals.ts";
import type { Dispatcher } from "./jobs/dispatcher.ts";
import type {
  Comparisons,
  JobBus,
  Scripted,
  UnstoredResult,
  Watching,
  Webhooks,
} from "./jobs/parts.ts";
import type { FleetHooks } from "./links/hooks.ts";
import type { Awaited, CandidateTeller, FleetCache } from "./links/parts.ts";
import type { StoresHealth } from "./links/stores-health.ts";
import type { WorkerLink } from "./links/worker-link.ts";
import type { FleetMeters } from "./metrics/fleet-meters.ts";
import type { OpenParts } from "./recordings/open-parts.ts";
import type { ThumbnailTurns } from "./recordings/thumbnail/turns.ts";
import type { VideoExports } from "./recordings/video/parts.ts";
import type { SettingsCache } from "./registries/settings-cache.ts";
import type { HubSession, LaneWanted, PendingCall } from "./sessions/hub-session.ts";

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
  | "session ended"
  | "capture decided";

/** What the fleet's functions are given; built once by the program (`program/open-context.ts`). */
export interface FleetContext extends PlatformContext, ClusterContext {
  /** Uniform in [0, 1): breaks ties between workers. */
  readonly random: () => number;
  readonly candidate: CandidateTeller;
  readonly db: Db;
  readonly leases: LaneLeases;
  /** Recordings that workers send to this hub. */
  readonly recordings: OpenParts;
  /** Videos that this hub makes of recordings. */
  readonly video_exports: VideoExports;
  /** Small pictures that this hub draws of recordings. */
  readonly thumbnail_turns: ThumbnailTurns;
  /** What the next hub must know of links and sessions (`fleet/links/kept.ts`). */
  readonly kept: KeptEntries;
  /** Workers and sessions of the previous hub that may still be taken up. */
  readonly awaited: Awaited;
  /** Messages between the hubs of a fleet. */
  readonly pubsub: PubSub;
  /** Profiles, and archives on their way to one: encrypted in `objects`. */
  readonly profile_archives: SealedObjects;
  /** Registered links by worker id. */
  readonly links: Map<string, WorkerLink>;
  /** Sockets that have not registered yet, with the time each was opened. */
  readonly handshakes: Map<{ close(code: number, reason: string): void }, number>;
  /** Sessions whose lane is on one of `links`, by id. */
  readonly sessions: Map<string, HubSession>;
  /** Calls of sessions that a worker has not answered yet, by call id. */
  readonly session_calls: Map<string, PendingCall>;
  /** POST /sessions calls waiting for a lane, oldest first. */
  readonly lanes_wanted: Set<LaneWanted>;
  /** Previews being taken, by session id. */
  readonly previews: Map<string, Promise<Uint8Array>>;
  readonly signed_links: SignedLinks;
  readonly fleet_cache: FleetCache;
  readonly stores_health: StoresHealth;
  /** What the fleet counts while it works. */
  readonly meters: FleetMeters;
  readonly hooks: FleetHooks;
  readonly bus: JobBus;
  readonly dispatcher: Dispatcher;
  readonly settings_cache: SettingsCache;
  readonly webhooks: Webhooks;
  readonly comparisons: Comparisons;
  readonly watching: Watching;
  readonly arrivals: Arrivals;
  /** POST /jobs calls waiting for their job: each gets the row once a worker has accepted the job, or it has ended. */
  readonly waiters: Map<string, (row: JobRow) => void>;
  /** Scripted jobs and their runners. */
  readonly scripted: Scripted;
  /** What runs and plans scripts; tests supply their own. */
  readonly script_tools: ScriptTools;
  /** Results that could not be stored yet, by lease token; never more than there are lanes. */
  readonly unstored: Map<number, UnstoredResult>;
  /** Profiles that are being written, each with its writer: one writer per name. */
  readonly profile_writers: Map<string, string>;
  /**
   * Aborts when the hub is asked to stop: from now on nothing is assigned, and what runs has SVC_DRAIN_TIMEOUT_S left.
   * Its reason is the deadline.
   */
  readonly draining: AbortSignal;
  /** Aborts when that time is up: nobody waits for capacity any longer. */
  readonly stopping: AbortSignal;
  readonly signal: (name: Signal, data: Record<string, unknown>) => void;
}
