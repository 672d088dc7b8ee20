import type { HubContext } from "../context.ts";

/** The setting min_asset_size_bytes, which stands in for a client's 0 (fleet spec §2.2). */
export async function minAssetSize(ctx: HubContext): Promise<number> {
  const value = await ctx.db.settings.get("min_asset_size_bytes");
  return typeof value === "number" ? value : ctx.config.min_asset_size_bytes;
}
