import type { FleetContext } from "#hub/fleet/context.ts";
import type { PipelineContext } from "#hub/pipeline/context.ts";

/** What a hub has that serves both services, each of which knows its own part alone. */
export interface ProgramContext extends FleetContext, PipelineContext {
  readonly db: FleetContext["db"];
  readonly stores_health: FleetContext["stores_health"];
}
