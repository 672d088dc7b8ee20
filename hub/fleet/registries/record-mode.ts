import type { HostRow } from "#hub/platform/db/rows.ts";
import type { RecordMode } from "#shared/protocol/schema/record-mode.ts";
import type { FleetContext } from "../context.ts";
import { fleetSetting } from "./fleet-settings.ts";

/** What is recorded of a run: what it asks for, else what its host does, else the setting (rules/recordings#what-is-recorded). */
export const recordModeOf = async (
  ctx: Pick<FleetContext, "config" | "clock" | "settings_cache" | "db">,
  asked: RecordMode | null | undefined,
  host: Pick<HostRow, "record"> | null,
): Promise<RecordMode> => asked ?? host?.record ?? (await fleetSetting(ctx, "record"));
