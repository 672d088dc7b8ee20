import type { LaneLease } from "#hub/platform/stores/leases.ts";
import type { EgressOption } from "#shared/protocol/egress.ts";
import type { ProxyOption } from "#shared/protocol/proxy.ts";
import type { UpdateReport } from "#shared/protocol/schema/updates.ts";
import type { Capabilities, HostLoad, Lane } from "#shared/protocol/schema/worker.ts";
import type { HeldLane, WorkerLink } from "./worker-link.ts";
/** A worker's link, and the process that has it. */
export interface KeptLink {
  worker_id: string;
  instance_id: string;
  /** SHA-256 of the upload token, which the worker presents when it comes back. */
  token_sha256: string;
  /**
   * How many messages of the worker this hub had handled when it stopped; null while it runs, and after it was killed.
   */
  received: number | null;
}

/** A session that no job owns. Times epoch ms. */
export interface KeptSession {
  session_id: string;
  kind: "kept" | "sdk";
  worker_id: string;
  lane_idx: number;
  lease_token: number;
  job_id: string | null;
  headless: boolean;
  /** Absent when an earlier version wrote the entry. */
  egress?: EgressOption | null;
  proxy?: ProxyOption | null;
  /** The job whose capture it shows. */
  replay?: string | null;
  trace?: boolean;
  capture?: boolean;
  /** Null, and absent: it does not end with its CDP clients. */
  reconnect_ms?: number | null;
  idle_ttl_ms: number;
  created_at: number;
  expires_at: number;
}

/** What ran when the previous hub ended, and may be taken up until SVC_LINK_GRACE_S after this hub's start. */
export interface Awaited {
  readonly links: Map<string, KeptLink>;
  readonly sessions: Map<string, KeptSession>;
}

/** Tells the other hubs about this one's best free candidate. */
export interface CandidateTeller {
  /** The candidate may have changed; if it has, announces it soon, once for many changes. */
  changed(): void;
  /** Tells the others in any case. */
  tell(): void;
  stop(): void;
}

/** What every hub may know about a worker: the value of `worker:<id>` in the shared store. Times are epoch ms. */
export interface WorkerEntry {
  worker_id: string;
  instance_id: string;
  address: string;
  hostname: string;
  version: string;
  capabilities: Capabilities;
  lanes: Lane[];
  load: HostLoad;
  profiles: string[];
  update?: UpdateReport | null;
  /** It updates when ordered to; a worker of an earlier version follows the version of the hub it is linked to. */
  waits_for_order?: boolean;
  connected_at: number;
  last_heartbeat_at: number;
  /** Since when its hub waits for it to come back. */
  cut_at?: number | null;
  link_hub: string;
  /** It runs on the host of that hub; hubs of earlier versions do not say. */
  on_hub_host?: boolean;
}

/** The last good fleet-wide view, for when the shared store does not answer (rules/workers#list-and-read-workers). */
export interface FleetCache {
  last: { at: number; entries: WorkerEntry[] } | null;
}

/** A leased lane whose worker does not know of it yet. Call `settle` once the assignment is answered or taken back. */
export interface LanePlace<J extends string | null> {
  link: WorkerLink;
  held: HeldLane & { readonly lease: LaneLease & { job_id: J } };
  settle: () => void;
}
