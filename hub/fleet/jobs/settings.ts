import type { FleetContext } from "../context.ts";
import { fleetSetting } from "../registries/fleet-settings.ts";

/** The setting min_asset_size_bytes, which stands in for a client's 0 (rules/capture#smallest-asset). */
export const minAssetSize = (
  ctx: Pick<FleetContext, "config" | "clock" | "settings_cache" | "db">,
): Promise<number> => fleetSetting(ctx, "min_asset_size_bytes");
