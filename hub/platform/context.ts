import type { Metrics } from "#hub/platform/metrics/metrics.ts";
import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import type { WallJumps } from "#shared/kit/wall-jumps.ts";
import type { AdminGate } from "./access/admin.ts";
import type { AuditLog } from "./access/audit/audit-log.ts";
import type { Logins } from "./access/logins.ts";
import type { Throttle } from "./access/throttle.ts";
import type { Tokens } from "./access/tokens.ts";
import type { Changes } from "./changes.ts";
import type { Cluster } from "./cluster/cluster.ts";
import type { HubConfig } from "./config.ts";
import type { CallCounts } from "./http/call-counts.ts";
import type { RunningCalls } from "./idempotency/running-calls.ts";
import type { Rollout } from "./rollout/rollout.ts";
import type { UpdateKey } from "./secrets/update-key.ts";
import type { DiskRoom } from "./stores/disk-room.ts";
import type { Kv } from "./stores/kv.ts";
import type { ObjectStore } from "./stores/objects.ts";
import type { HubTracer } from "./tracing/hub-tracer.ts";

/** What both services build on, in every mode of the server. */
export interface PlatformContext {
  readonly config: HubConfig;
  readonly log: Log;
  readonly clock: Clock;
  /** Says how old a stored thing is, even when the wall clock jumps. */
  readonly wall_jumps: WallJumps;
  readonly version: string;
  /** The names by which clients may call it (`http/own-names.ts`). */
  readonly own_names: readonly string[];
  readonly kv: Kv;
  readonly objects: ObjectStore;
  /** Whether the disks of this process have room for new work. */
  readonly disk_room: DiskRoom;
  /** Signs updates of workers; null where its key is not available. */
  readonly update_key: UpdateKey | null;
  /** Decides when each worker takes which version. */
  readonly rollout: Rollout;
  readonly admin: AdminGate;
  /** Tokens with roles. */
  readonly tokens: Tokens;
  /** Browsers that have logged in. */
  readonly logins: Logins;
  /** Slows down callers who guess. */
  readonly throttle: Throttle;
  /** The audit log: who changed what. */
  readonly audit: AuditLog;
  /** Tells open pages of the admin UI what to read again. */
  readonly changes: Changes;
  /** Calls with an Idempotency-Key that run in this process. */
  readonly running_calls: RunningCalls;
  /** One line per call; too many to store with the service logs. */
  readonly access_log: Log;
  /** Where spans go; null where no collector is named, and then nothing is traced. */
  readonly tracer: HubTracer | null;
  /** What `/metrics` tells; each room adds its own. */
  readonly metrics: Metrics;
  readonly call_counts: CallCounts;
}

/** What a hub of a fleet has besides that: its identity, where the others reach it, and the calls that it passes on. */
export interface ClusterContext
  extends Pick<PlatformContext, "config" | "log" | "clock" | "version" | "own_names" | "kv"> {
  /** Names this hub among several, new at every start. */
  readonly hub_id: string;
  /** The other hubs of the fleet: which they are, and how to send to them. */
  readonly cluster: Cluster;
  /** Where the other hubs reach this one, and the port that it listens on itself; known once it listens. */
  readonly advertise: { url: string; port: number | null };
  /** Calls being passed on to other hubs. */
  readonly relays: { calls: number };
  /** Ends the open event streams (1001) when the hub stops. */
  readonly streams: Set<() => Promise<void>>;
}
