import { ACTION_S, RUN_S } from "#shared/kit/histogram-buckets.ts";
import { LaneState } from "#shared/protocol/schema/worker.ts";
import type { Meters } from "./meters.ts";

const OUTCOMES = ["captured", "partial", "lost", "skipped"] as const;

/** How a job ended on its lane. `stopped`: it was cancelled, or its link was lost, so that it has no result. */
export interface JobEnd {
  status: "completed" | "failed" | "stopped";
  ms: number;
  capture: Readonly<Record<(typeof OUTCOMES)[number], number>> | null;
}

/** What the lanes of a worker count while they work (rules/metrics#of-a-worker). */
export type LaneMeters = ReturnType<typeof createLaneMeters>;

export function createLaneMeters(meters: Meters) {
  const jobs = meters.histogram(
    "flotilla_worker_job_seconds",
    "From the start of a job on its lane until its result, with its uploads",
    RUN_S,
    ["status"],
  );
  const bodies = meters.counter(
    "flotilla_worker_capture_bodies_total",
    "Bodies that browsers of ended jobs received, by what became of them",
    ["outcome"],
  );
  const actions = meters.histogram(
    "flotilla_worker_action_seconds",
    "How long an action of a session took on the worker",
    ACTION_S,
    ["action", "outcome"],
  );
  const registered = meters.counter(
    "flotilla_worker_link_registrations_total",
    "Handshakes with a hub; more than one means that the link was lost",
  );
  const refused = meters.counter(
    "flotilla_worker_egress_refused_total",
    "Connections that lanes asked for and the rules of egress refused",
  );
  const received = meters.counter(
    "flotilla_worker_egress_received_bytes_total",
    "Bytes that lanes received from servers",
  );
  return {
    jobEnded: ({ status, ms, capture }: JobEnd) => {
      jobs.observe({ status }, ms / 1_000);
      if (capture === null) return;
      for (const outcome of OUTCOMES) bodies.inc({ outcome }, capture[outcome]);
    },
    actionEnded: (action: string, ok: boolean, ms: number) =>
      actions.observe({ action, outcome: ok ? "ok" : "error" }, ms / 1_000),
    linkRegistered: () => registered.inc(),
    egressRefused: () => refused.inc(),
    egressReceived: (bytes: number) => received.inc({}, bytes),
  };
}

/** What a scrape asks the lanes and the link for. */
export interface LaneReadings {
  lanes(): readonly { state: LaneState }[];
  jobs(): number;
  sessions(): number;
  isLinked(): boolean;
}

export function addLaneReadings(meters: Meters, read: LaneReadings): void {
  const lanes = meters.gauge("flotilla_worker_lanes", "Lanes of this worker, by their state", [
    "state",
  ]);
  const held = meters.gauge(
    "flotilla_worker_lanes_held",
    "Lanes that a job or a session of a caller has",
    ["by"],
  );
  const linked = meters.gauge(
    "flotilla_worker_link_up",
    "1 while the worker is linked to its hub; a short cut within the hub's grace counts as linked",
  );
  meters.reading("lanes", [lanes, held, linked], () => {
    const count = new Map<LaneState, number>(LaneState.options.map((state) => [state, 0]));
    for (const { state } of read.lanes()) count.set(state, (count.get(state) ?? 0) + 1);
    for (const [state, n] of count) lanes.set({ state }, n);
    held.set({ by: "job" }, read.jobs());
    held.set({ by: "session" }, read.sessions());
    linked.set(read.isLinked() ? 1 : 0);
  });
}
