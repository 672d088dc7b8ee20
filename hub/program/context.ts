import type { FleetContext } from "#hub/fleet/context.ts";
import type { PipelineContext } from "#hub/pipeline/context.ts";

/** The context of a hub that serves both services, each of which knows only its own part. */
export interface ProgramContext extends FleetContext, PipelineContext {
  readonly db: FleetContext["db"];
  readonly stores_health: FleetContext["stores_health"];
}
