import type { Clock } from "#shared/kit/clock.ts";
import type { LaneLease, LaneLeases } from "./leases.ts";

interface Held {
  lease: LaneLease;
  expires_at: number;
}

/** The lane leases of a single hub. Every method decides without awaiting, so calls cannot interleave. */
export function createMemoryLeases(clock: Pick<Clock, "now" | "monotonic">): LaneLeases {
  const workers = new Map<string, Map<number, Held>>();
  // Starts above every token of an earlier run: job rows and workers may still hold those.
  let lastToken = clock.now() * 1_000;

  /** The worker's leases without the expired ones, by lane. */
  const heldBy = (worker_id: string): Map<number, Held> => {
    const lanes = workers.get(worker_id);
    if (!lanes) return new Map();
    for (const [lane_idx, held] of lanes)
      if (held.expires_at <= clock.monotonic()) lanes.delete(lane_idx);
    if (lanes.size === 0) workers.delete(worker_id);
    return lanes;
  };

  const list = (worker_id: string): LaneLease[] =>
    [...heldBy(worker_id).values()]
      .map((held) => ({ ...held.lease }))
      .sort((a, b) => a.lane_idx - b.lane_idx);

  return {
    acquire: async ({ worker_id, lanes, max_concurrent, job_id, session_id, ttl_ms }) => {
      const held = heldBy(worker_id);
      if (held.size >= max_concurrent) return null;
      const lane_idx = lanes.find((lane) => !held.has(lane));
      if (lane_idx === undefined) return null;
      lastToken += 1;
      const lease: LaneLease = { worker_id, lane_idx, token: lastToken, job_id, session_id };
      held.set(lane_idx, { lease, expires_at: clock.monotonic() + ttl_ms });
      workers.set(worker_id, held);
      return { ...lease };
    },
    handOver: async (worker_id, lane_idx, token, job_id) => {
      const held = heldBy(worker_id).get(lane_idx);
      if (held?.lease.token !== token) return null;
      lastToken += 1;
      held.lease = { ...held.lease, token: lastToken, job_id };
      return { ...held.lease };
    },
    holds: async (worker_id, lane_idx, token) =>
      heldBy(worker_id).get(lane_idx)?.lease.token === token,
    renew: async (worker_id, leases, ttl_ms) => {
      const lanes = heldBy(worker_id);
      const expires_at = clock.monotonic() + ttl_ms;
      for (const lease of leases) {
        const now = lanes.get(lease.lane_idx);
        if (now && now.lease.token > lease.token) continue;
        lanes.set(lease.lane_idx, { lease: { ...lease }, expires_at });
        lastToken = Math.max(lastToken, lease.token);
      }
      if (lanes.size > 0) workers.set(worker_id, lanes);
    },
    release: async (worker_id, lane_idx, token) => {
      const lanes = heldBy(worker_id);
      if (lanes.get(lane_idx)?.lease.token !== token) return false;
      lanes.delete(lane_idx);
      if (lanes.size === 0) workers.delete(worker_id);
      return true;
    },
    releaseAll: async (worker_id) => {
      const leases = [...heldBy(worker_id).values()].map((held) => held.lease);
      workers.delete(worker_id);
      return leases;
    },
    list: async (worker_id) => list(worker_id),
    listMany: async (worker_ids) => new Map(worker_ids.map((id) => [id, list(id)])),
  };
}
