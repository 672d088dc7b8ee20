import type { ClusterContext } from "#hub/platform/context.ts";
import type { FleetContext } from "../context.ts";

/** What counts the workers and lanes of every hub of the fleet. */
export type FleetCountContext = Pick<
  FleetContext,
  "clock" | "fleet_cache" | "hub_id" | "kv" | "links" | "log"
>;

/** What tells which workers there are, on every hub of the fleet, and what each is doing. */
export type WorkerListContext = FleetCountContext & Pick<FleetContext, "db" | "leases" | "rollout">;

/** What holds a lane for a job or a session. */
export type LaneContext = Pick<
  FleetContext,
  "clock" | "disk_room" | "draining" | "hooks" | "leases" | "links" | "log" | "random"
>;

/** What tells workers where the hubs of the fleet are. */
export type PlacesContext = ClusterContext & Pick<FleetContext, "db" | "fleet_cache" | "links">;

/** What ends a link: its leases and what is kept of it, and what hears of it. */
export type LinkEndContext = Pick<
  FleetContext,
  "clock" | "config" | "hooks" | "hub_id" | "kept" | "kv" | "leases" | "links" | "log" | "signal"
>;

/** What registers a worker: its earlier link may end, and it is told where the hubs are. */
export type RegisterContext = LinkEndContext &
  PlacesContext &
  Pick<FleetContext, "awaited" | "rollout">;
