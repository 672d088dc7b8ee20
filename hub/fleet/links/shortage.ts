import { counted } from "#shared/kit/words.ts";
import { MAX_DISK_PCT } from "#shared/protocol/limits.ts";
import type { WaitingFor } from "#shared/protocol/schema/job.ts";
import type { Lane, Worker } from "#shared/protocol/schema/worker.ts";

/**
 * Why no lane is available: the conditions of rules/scheduling#candidates in turn, and the first that no worker meets.
 */

const OUT_OF_USE: readonly Lane["state"][] = ["quarantined", "dead"];
/** How many workers a sentence names; the others are counted. */
const MOST_NAMED = 3;

function named(names: readonly string[]): string {
  const more = names.length - MOST_NAMED;
  const shown = names.slice(0, MOST_NAMED).join(", ");
  return more > 0 ? `${shown} and ${more} more` : shown;
}

const isIdle = ({ state, job_id, session_id }: Lane): boolean =>
  state === "warm" && job_id === null && session_id === null;

/** Assignments the worker could take now, if asked (rules/scheduling#candidates). */
export const freeLanesOf = ({ lanes, in_flight, capabilities }: Worker): number =>
  Math.max(0, Math.min(lanes.filter(isIdle).length, capabilities.max_concurrent - in_flight));

/** Assignments the worker can have at a time. */
export const usableLanesOf = ({ lanes, capabilities: { max_concurrent } }: Worker): number =>
  Math.min(lanes.filter(({ state }) => !OUT_OF_USE.includes(state)).length, max_concurrent);

/** The workers that may be given work at all: alive, active, with room on their disk. */
export const ableWorkers = (workers: readonly Worker[]): Worker[] =>
  workers.filter(
    ({ alive, status, disk_pct }) => alive && status === "active" && hasRoom(disk_pct),
  );

const hasRoom = (disk_pct: number | null): boolean => disk_pct === null || disk_pct < MAX_DISK_PCT;

/**
 * Why none of these workers has a lane to give now, in words that continue "it waits: "; null when one has a free lane.
 * @param only the only worker that will do.
 */
export function laneShortage(
  workers: readonly Worker[],
  only: string | null = null,
): WaitingFor | null {
  const asked = only === null ? workers : workers.filter(({ worker_id }) => worker_id === only);
  const alive = asked.filter((worker) => worker.alive);
  if (alive.length === 0) return { reason: "no_worker", detail: noneAlive(asked.length, only) };
  const active = alive.filter(({ status }) => status === "active");
  if (active.length === 0) return { reason: "workers_paused", detail: nonesTurn(alive) };
  const able = ableWorkers(active);
  if (able.length === 0) return { reason: "disk_full", detail: fullDisks(active) };
  if (able.every((worker) => usableLanesOf(worker) === 0))
    return { reason: "no_lane", detail: noneUsable(able) };
  if (able.some((worker) => freeLanesOf(worker) > 0)) return null;
  return { reason: "lanes_busy", detail: allBusy(able) };
}

const noneAlive = (known: number, only: string | null): string => {
  if (only !== null) return `worker ${only} is not connected`;
  return known === 0
    ? "no worker is connected"
    : `no worker is connected (${counted(known, "worker")} known)`;
};

const nonesTurn = (alive: readonly Worker[]): string =>
  `no connected worker takes work: ${named(alive.map(({ worker_id, status }) => `${worker_id} is on ${status}`))}`;

const fullDisks = (active: readonly Worker[]): string =>
  `no active worker has room on its disk: ${named(
    active.map(({ worker_id, disk_pct }) => `${worker_id} is ${Math.round(disk_pct ?? 0)} % full`),
  )}, and ${MAX_DISK_PCT} % is the most`;

function noneUsable(able: readonly Worker[]): string {
  const bad = able.flatMap(({ worker_id, lanes }) =>
    lanes
      .filter(({ state }) => OUT_OF_USE.includes(state))
      .map(({ lane_idx, state, reason }) => {
        const why = reason === null ? "" : ` (${reason})`;
        return `lane ${lane_idx} of ${worker_id} is ${state}${why}`;
      }),
  );
  return bad.length === 0 ? "no worker offers a lane" : `no lane works: ${named(bad)}`;
}

function allBusy(able: readonly Worker[]): string {
  const lanes = able
    .flatMap((worker) => worker.lanes)
    .filter(({ state }) => !OUT_OF_USE.includes(state));
  const jobs = lanes.filter(({ job_id }) => job_id !== null).length;
  const sessions = lanes.filter((l) => l.job_id === null && l.session_id !== null).length;
  const idle = lanes.filter(isIdle).length;
  const rest = lanes.length - jobs - sessions - idle;
  const parts = [
    ...(jobs > 0 ? [`${jobs} with jobs`] : []),
    ...(sessions > 0 ? [`${sessions} with sessions`] : []),
    ...(rest > 0 ? [`${rest} being made ready`] : []),
    ...(idle > 0 ? [`${idle} beyond max_concurrent`] : []),
  ].join(", ");
  return lanes.length === 1
    ? `the only lane is busy (${parts})`
    : `all ${lanes.length} lanes are busy (${parts})`;
}
