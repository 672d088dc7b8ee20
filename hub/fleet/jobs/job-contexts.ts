import type { ClusterContext } from "#hub/platform/context.ts";
import type { FleetContext } from "../context.ts";
import type { LaneContext, WorkerListContext } from "../links/link-contexts.ts";
import type { SessionAddContext, SessionEndContext } from "../sessions/session-contexts.ts";

/** What a document of a job is read or made from. */
export type DocumentContext = Pick<FleetContext, "db" | "objects" | "version">;

/** What tells a job's record: of one that is queued also what it waits for. */
export type JobReadContext = WorkerListContext &
  Pick<
    FleetContext,
    "cluster" | "config" | "disk_room" | "draining" | "scripted" | "settings_cache" | "wall_jumps"
  >;

/** What gives a job's session back: it ends, or stays open for whoever asked to keep it. */
export type JobReleaseContext = SessionAddContext &
  SessionEndContext &
  Pick<FleetContext, "scripted">;

/** What ends a job, and whom its end is told. */
export type JobEndContext = JobReleaseContext &
  Pick<
    FleetContext,
    "bus" | "cluster" | "dispatcher" | "tracer" | "waiters" | "watching" | "webhooks"
  >;

/** What ends a job that a lane holds: a result that cannot be stored yet is kept. */
export type JobFinishContext = JobEndContext & Pick<FleetContext, "unstored">;

/** What cancels a job, also on the lane where it runs. */
export type JobCancelContext = JobEndContext & Pick<FleetContext, "links">;

/** What deletes a job with its files; one that has not ended is cancelled. */
export type JobRemovalContext = JobCancelContext & Pick<FleetContext, "objects" | "recordings">;

/** What takes a queued job to a session that is open already, on whichever hub. */
export type JobAttachContext = JobEndContext &
  ClusterContext &
  Pick<FleetContext, "awaited" | "draining" | "hooks" | "leases" | "settings_cache">;

/** What assigns queued jobs to the lanes of this hub. */
export type JobAssignContext = JobAttachContext & LaneContext & Pick<FleetContext, "stopping">;

/** What checks a new job, stores it and places it. */
export type JobCreateContext = JobAttachContext &
  WorkerListContext &
  Pick<FleetContext, "arrivals" | "objects">;

/** What does that for a caller, who may wait for the job and is told what it waits for. */
export type JobSubmitContext = JobCreateContext &
  Pick<FleetContext, "disk_room" | "running_calls" | "stopping">;
