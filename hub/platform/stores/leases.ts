/** A held lane. `token` rises with every lease ever given, so a late holder is distinguished from the current one. */
export interface LaneLease {
  worker_id: string;
  lane_idx: number;
  token: number;
  /** Null for a session that no job opened. */
  job_id: string | null;
  session_id: string;
}

export interface AcquireLane {
  worker_id: string;
  /** Lanes the worker reports warm, in order of preference. */
  lanes: number[];
  /** No lease is given when the worker already holds this many (rules/scheduling#lane-leases). */
  max_concurrent: number;
  job_id: string | null;
  session_id: string;
  ttl_ms: number;
}

/**
 * Lane leases: the only place where capacity is decided, in one atomic step each (rules/scheduling#lane-leases), so two
 * hubs never overfill a worker. `in_flight` of a worker is the number of its leases, never a counter of its own.
 */
export interface LaneLeases {
  /** The lease of the first free lane, or null when none is free or the worker is at max_concurrent. */
  acquire(input: AcquireLane): Promise<LaneLease | null>;
  /**
   * The lane changes hands without being free in between: if `token` still holds it, the same session gets a new token
   * under `job_id`. Null when it does not.
   */
  handOver(
    worker_id: string,
    lane_idx: number,
    token: number,
    job_id: string,
  ): Promise<LaneLease | null>;
  /** True when `token` still holds that lane. */
  holds(worker_id: string, lane_idx: number, token: number): Promise<boolean>;
  /**
   * Renews the leases this hub holds on a worker (on its heartbeat). One the store has lost (it was emptied) is put back,
   * unless the lane was leased again under a higher token; tokens given later are higher than those put back.
   */
  renew(worker_id: string, held: readonly LaneLease[], ttl_ms: number): Promise<void>;
  /** Frees the lane if `token` still holds it; true when it did. */
  release(worker_id: string, lane_idx: number, token: number): Promise<boolean>;
  /** Frees every lane of a worker that went away; the leases it held. */
  releaseAll(worker_id: string): Promise<LaneLease[]>;
  list(worker_id: string): Promise<LaneLease[]>;
  /** As `list` for each of these, in one step; it includes workers without leases. */
  listMany(worker_ids: readonly string[]): Promise<Map<string, LaneLease[]>>;
}
