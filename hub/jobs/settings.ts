import type { HubContext } from "../context.ts";

/** Read for every assignment, changed once a month: a change made through another hub counts within this time. */
const FRESH_MS = 1_000;

export interface SettingsCache {
  min_asset_size_bytes: { value: number; read_at: number } | null;
  preview_interval_s: { value: number; read_at: number } | null;
}

/** The setting min_asset_size_bytes, which stands in for a client's 0 (fleet spec §2.2). */
export async function minAssetSize(ctx: HubContext): Promise<number> {
  const now = ctx.clock.now();
  const cached = ctx.settings_cache.min_asset_size_bytes;
  if (cached && now - cached.read_at < FRESH_MS) return cached.value;
  const stored = await ctx.db.settings.get("min_asset_size_bytes");
  const value = typeof stored === "number" ? stored : ctx.config.min_asset_size_bytes;
  ctx.settings_cache.min_asset_size_bytes = { value, read_at: now };
  return value;
}
