import type { FleetSettingKey } from "./known-settings.ts";

/** What was read from the store, by key. */
export type SettingsCache = Map<FleetSettingKey, { value: unknown; read_at: number }>;
