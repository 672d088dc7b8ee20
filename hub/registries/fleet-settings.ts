import type { HubContext } from "../context.ts";
import { FLEET_SETTINGS, type FleetSettingKey, type FleetSettingValue } from "./known-settings.ts";

/** Read for every assignment, changed once a month: a change made through another hub counts within this time. */
const FRESH_MS = 1_000;

/** What was read of the store, by key. */
export type SettingsCache = Map<FleetSettingKey, { value: unknown; read_at: number }>;

export type SettingsContext = Pick<HubContext, "config" | "clock"> & {
  readonly settings_cache: SettingsCache;
  readonly db: Pick<HubContext["db"], "settings">;
};

/** What counts: the stored value, else the default. A stored one that a rule no longer allows counts as none. */
function countingValue<K extends FleetSettingKey>(
  { config }: SettingsContext,
  key: K,
  stored: unknown,
): FleetSettingValue<K> {
  const { schema, fallback } = FLEET_SETTINGS[key];
  const parsed = stored === null ? null : schema.safeParse(stored);
  return (parsed?.success ? parsed.data : fallback(config)) as FleetSettingValue<K>;
}

/** What counts now, as this hub knows it: a change through another hub counts within a second. */
export async function fleetSetting<K extends FleetSettingKey>(
  ctx: SettingsContext,
  key: K,
): Promise<FleetSettingValue<K>> {
  const now = ctx.clock.now();
  const cached = ctx.settings_cache.get(key);
  if (cached && now - cached.read_at < FRESH_MS) return cached.value as FleetSettingValue<K>;
  const value = countingValue(ctx, key, await ctx.db.settings.get(key));
  ctx.settings_cache.set(key, { value, read_at: now });
  return value;
}
