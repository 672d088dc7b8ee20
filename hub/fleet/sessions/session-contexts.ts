import type { ClusterContext } from "#hub/platform/context.ts";
import type { FleetContext } from "../context.ts";
import type { WorkerListContext } from "../links/link-contexts.ts";

/** What sends a call to the worker of a session and waits for its answer. */
export type SessionCallContext = Pick<
  FleetContext,
  "clock" | "meters" | "session_calls" | "stopping"
>;

/** What performs an action of a session, and notes it. */
export type SessionActContext = SessionCallContext &
  Pick<FleetContext, "config" | "db" | "kept" | "log" | "wall_jumps">;

/** What the record of a session is kept with, from its begin to its end. */
type SessionRecordContext = Pick<
  FleetContext,
  "clock" | "db" | "hub_id" | "kept" | "kv" | "log" | "meters" | "sessions"
>;

/** What adds a session to those of this hub. */
export type SessionAddContext = SessionRecordContext & Pick<FleetContext, "config" | "wall_jumps">;

/** What ends a session of this hub. */
export type SessionEndContext = SessionRecordContext & Pick<FleetContext, "signal">;

/** What finds the hub that has a session. */
export type OwnerContext = ClusterContext & Pick<FleetContext, "kept" | "sessions">;

/** What opens a session on a lane of this hub, or waits for one. */
export type SessionOpenContext = SessionAddContext &
  SessionEndContext &
  WorkerListContext &
  Pick<FleetContext, "dispatcher" | "hooks" | "lanes_wanted" | "settings_cache" | "stopping">;

/** What opens a session on whichever hub has a lane for it. */
export type SessionAnywhereContext = SessionOpenContext &
  ClusterContext &
  Pick<FleetContext, "candidate" | "disk_room" | "draining">;
