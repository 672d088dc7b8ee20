import type { Session } from "#shared/protocol/schema/session.ts";
import type { Lane, Worker } from "#shared/protocol/schema/worker.ts";

/** A lane of the fleet with its worker and what is open on it. */
export interface WallLane {
  key: string;
  worker: Worker;
  lane: Lane;
  session: Session | undefined;
}

export interface WallFilter {
  /** Id of a worker, or "" for all. */
  worker: string;
  /** State of a lane, or "". */
  state: string;
  /** Part of a title, an address or an id, or "". */
  q: string;
}

/** Every lane of the workers that are connected, by worker. */
export function lanesOf(workers: readonly Worker[], sessions: readonly Session[]): WallLane[] {
  const open = new Map(sessions.map((session) => [session.session_id, session]));
  return workers.flatMap((worker) =>
    worker.lanes.map((lane) => ({
      key: `${worker.worker_id} ${lane.lane_idx}`,
      worker,
      lane,
      session: lane.session_id === null ? undefined : open.get(lane.session_id),
    })),
  );
}

export function filterLanes(lanes: readonly WallLane[], { worker, state, q }: WallFilter) {
  const wanted = q.trim().toLowerCase();
  return lanes.filter((one) => {
    if (worker !== "" && one.worker.worker_id !== worker) return false;
    if (state !== "" && one.lane.state !== state) return false;
    if (wanted === "") return true;
    const { lane, session } = one;
    const texts = [session?.title, session?.url, lane.session_id, lane.job_id, one.worker.hostname];
    return texts.some((text) => text?.toLowerCase().includes(wanted));
  });
}

/** How many lanes are in each state, in the order of LANE_STATES; states without a lane are left out. */
export function countStates(lanes: readonly WallLane[]): [state: string, count: number][] {
  const counts = new Map<string, number>(ORDER.map((state) => [state, 0]));
  for (const { lane } of lanes) counts.set(lane.state, (counts.get(lane.state) ?? 0) + 1);
  return [...counts].filter(([, count]) => count > 0);
}

const ORDER = ["running", "warm", "booting", "resetting", "recycling", "quarantined", "dead"];

/** What a lane without a session is doing, for people. */
export const STATE_TEXTS: Record<Lane["state"], string> = {
  booting: "Starting its browser",
  warm: "Idle, ready for work",
  running: "Something is being opened on it",
  resetting: "Getting a clean browser",
  recycling: "Its browser is being replaced",
  quarantined: "Failed repeatedly; retried now and then",
  dead: "Out of service",
};
