import { LaneState } from "#shared/protocol/schema/worker.ts";
import type { FleetContext } from "../context.ts";
import { isAlive } from "../links/view.ts";

const SESSION_KINDS = ["job", "kept", "sdk", "call"] as const;

/**
 * What a scrape reads of the fleet. Lanes, workers and sessions are those of this hub alone, so that the sum over all
 * hubs is the fleet's; the queue is in the database that all hubs share, so that each tells the same.
 */
export function addFleetReadings(
  ctx: Pick<
    FleetContext,
    "clock" | "db" | "handshakes" | "lanes_wanted" | "links" | "metrics" | "sessions" | "waiters"
  >,
): void {
  addQueue(ctx);
  addLanes(ctx);
  addSessions(ctx);
}

function addQueue({ metrics, db, clock }: Pick<FleetContext, "metrics" | "db" | "clock">): void {
  const queued = metrics.gauge("flotilla_jobs_queued", "Jobs that wait in the queue");
  const oldest = metrics.gauge(
    "flotilla_jobs_oldest_queued_seconds",
    "For how long the oldest queued job has waited; 0 for an empty queue",
  );
  metrics.reading("queue", [queued, oldest], async () => {
    const found = await db.figures.queue();
    queued.set(found.queued);
    oldest.set(found.oldest === null ? 0 : Math.max(0, clock.now() - found.oldest) / 1_000);
  });
}

function addLanes(ctx: Pick<FleetContext, "metrics" | "links" | "clock">): void {
  const { metrics } = ctx;
  const workers = metrics.gauge(
    "flotilla_workers",
    "Workers linked to this hub, by their status; `lost`: linked, but silent",
    ["status"],
  );
  const lanes = metrics.gauge("flotilla_lanes", "Lanes of these workers, by their state", [
    "state",
  ]);
  const held = metrics.gauge("flotilla_lanes_held", "Lanes that a job or a session has", ["by"]);
  const late = metrics.gauge(
    "flotilla_jobs_uploading",
    "Jobs without a lane whose captures wait for the hub's store",
  );
  metrics.reading("lanes", [workers, lanes, held, late], () => {
    const status = { active: 0, drain: 0, standby: 0, lost: 0 };
    const state = Object.fromEntries(LaneState.options.map((name) => [name, 0])) as Record<
      LaneState,
      number
    >;
    const by = { job: 0, session: 0 };
    let uploading = 0;
    for (const link of ctx.links.values()) {
      if (!link.ready || link.closed) continue;
      status[isAlive(ctx, link) ? link.status : "lost"] += 1;
      for (const lane of link.lanes.values()) state[lane.state] += 1;
      for (const { lease } of link.held.values())
        by[lease.job_id === null ? "session" : "job"] += 1;
      for (const { done } of link.uploading.values()) uploading += done ? 0 : 1;
    }
    for (const [name, n] of Object.entries(status)) workers.set({ status: name }, n);
    for (const [name, n] of Object.entries(state)) lanes.set({ state: name }, n);
    for (const [name, n] of Object.entries(by)) held.set({ by: name }, n);
    late.set(uploading);
  });
}

function addSessions({
  metrics,
  sessions,
  waiters,
  lanes_wanted,
  handshakes,
}: Pick<FleetContext, "metrics" | "sessions" | "waiters" | "lanes_wanted" | "handshakes">): void {
  const open = metrics.gauge("flotilla_sessions", "Sessions that are open on this hub", ["kind"]);
  const waiting = metrics.gauge("flotilla_calls_waiting", "Calls that wait for a lane", ["kind"]);
  const unregistered = metrics.gauge(
    "flotilla_worker_handshakes",
    "Sockets of workers that have not registered yet",
  );
  metrics.reading("sessions", [open, waiting, unregistered], () => {
    for (const kind of SESSION_KINDS) open.set({ kind }, 0);
    for (const { kind } of sessions.values()) open.inc({ kind });
    waiting.set({ kind: "job" }, waiters.size);
    waiting.set({ kind: "session" }, lanes_wanted.size);
    unregistered.set(handshakes.size);
  });
}
