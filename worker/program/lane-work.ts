import { createTypicalSizes } from "#worker/browser/block/typical-sizes.ts";
import {
  type Assignments,
  createAssignments,
  type RunStopped,
} from "#worker/browser/jobs/assignments.ts";
import type { LanePool } from "#worker/browser/lanes/pool.ts";
import { createEngines } from "#worker/browser/llm/engines.ts";
import { applyProfile } from "#worker/browser/profile/profiles.ts";
import { createSessionDesk, type SessionDesk } from "#worker/browser/session/desk.ts";
import type { Sessions } from "#worker/browser/session/live-session.ts";
import { createJobRunner, type JobRunnerDeps } from "./job-runner.ts";

export interface LaneWorkDeps extends Omit<JobRunnerDeps, "forJob"> {
  pool: LanePool;
  sessions: Sessions;
}

/** What the lanes are used for: jobs, and sessions that people and programs drive. */
export interface LaneWork {
  assignments: Assignments;
  desk: SessionDesk;
  /** Jobs and sessions whose lane is not yet being released. */
  in_flight(): number;
  stopAll(why: RunStopped): void;
  /** Resolves when neither a job nor a session is left. */
  idle(): Promise<unknown>;
}

export function createLaneWork(deps: LaneWorkDeps): LaneWork {
  const { config, egress, ways, pool, sessions, profiles, replays, clock, log } = deps;
  const guard = egress.judge;
  const assignments = createAssignments({
    log,
    pool,
    max_concurrent: config.max_concurrent,
    others_in_flight: () => desk.count(),
    borrow: (message) => desk.borrow(message),
    run: createJobRunner({ ...deps, forJob: (assignment, hold) => desk.forJob(assignment, hold) }),
  });
  const desk = createSessionDesk({
    clock,
    log,
    pool,
    live: {
      sessions,
      clock,
      guard,
      log,
      download_max_bytes: config.fetch.spool_max_bytes,
      sizes: createTypicalSizes(),
    },
    refusal: guard.checkUrl,
    record: deps.recordings.ofSession,
    reasonToRefuse: assignments.reasonToRefuse,
    profileFor: (session, profile, ended) =>
      applyProfile(profiles, profile, ways.filesOf(session), ended),
    replays,
    traces: deps.traces,
    hubFiles: ways.filesOf,
    engines: createEngines({ clock, secret: config.worker_secret }),
    tracer: deps.tracer,
    actionEnded: deps.metrics?.lanes().actionEnded,
  });
  return {
    assignments,
    desk,
    in_flight: () => assignments.in_flight() + desk.count(),
    stopAll: (why) => {
      assignments.stopAll(why);
      desk.stopAll(why);
    },
    idle: () => Promise.all([assignments.idle(), desk.idle()]),
  };
}
