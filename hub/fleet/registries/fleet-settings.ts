import { z } from "zod";
import { toIssues } from "#hub/platform/http/issues.ts";
import { AppError, type Issue, invalid } from "#shared/kit/errors.ts";
import type { FleetSettings } from "#shared/protocol/schema/fleet-settings.ts";
import type { FleetContext } from "../context.ts";
import {
  FLEET_SETTING_KEYS,
  FLEET_SETTINGS,
  type FleetSettingKey,
  type FleetSettingValue,
} from "./known-settings.ts";
import type { SettingsCache } from "./settings-cache.ts";

/** Read for every assignment, changed once a month: a change through another hub takes effect within this time. */
const FRESH_MS = 1_000;

export type SettingsContext = Pick<FleetContext, "config" | "clock"> & {
  readonly settings_cache: SettingsCache;
  readonly db: Pick<FleetContext["db"], "settings">;
};

/** The effective value: the stored one, else the default. A stored value that a rule no longer allows is ignored. */
function countingValue<K extends FleetSettingKey>(
  { config }: SettingsContext,
  key: K,
  stored: unknown,
): FleetSettingValue<K> {
  const { schema, fallback } = FLEET_SETTINGS[key];
  const parsed = stored === null ? null : schema.safeParse(stored);
  return (parsed?.success ? parsed.data : fallback(config)) as FleetSettingValue<K>;
}

/** The effective value as this hub knows it: a change through another hub takes effect within a second. */
export async function fleetSetting<K extends FleetSettingKey>(
  ctx: SettingsContext,
  key: K,
): Promise<FleetSettingValue<K>> {
  const now = ctx.clock.monotonic();
  const cached = ctx.settings_cache.get(key);
  if (cached && now - cached.read_at < FRESH_MS) return cached.value as FleetSettingValue<K>;
  const value = countingValue(ctx, key, await ctx.db.settings.get(key));
  ctx.settings_cache.set(key, { value, read_at: now });
  return value;
}

/** Every origin that CORS allows now: those of SVC_CORS_ORIGINS and of the setting, which an unreachable store leaves out. */
export async function corsOrigins(ctx: SettingsContext): Promise<readonly string[]> {
  const stored = await fleetSetting(ctx, "cors_origins").catch(() => []);
  return [...ctx.config.cors_origins, ...stored];
}

/** GET /settings (rules/settings#read-settings): the effective values, and what each key means. */
export async function readFleetSettings(ctx: SettingsContext): Promise<FleetSettings> {
  const stored = new Map(
    (await ctx.db.settings.find(FLEET_SETTING_KEYS)).map(({ key, value }) => [key, value]),
  );
  const settings = Object.fromEntries(
    FLEET_SETTING_KEYS.map((key) => [key, countingValue(ctx, key, stored.get(key) ?? null)]),
  );
  return { settings, schema: schemaOf(ctx) };
}

/** JSON schema of PATCH /settings, with this hub's defaults. */
function schemaOf({ config }: SettingsContext): Record<string, unknown> {
  const properties = Object.fromEntries(
    FLEET_SETTING_KEYS.map((key) => {
      const { schema, description, fallback } = FLEET_SETTINGS[key];
      const { $schema: _, ...json } = z.toJSONSchema(schema);
      return [key, { ...json, description, default: fallback(config) }];
    }),
  );
  return { type: "object", additionalProperties: false, properties };
}

type PatchContext = SettingsContext &
  Pick<FleetContext, "log"> & { readonly db: Pick<FleetContext["db"], "engines"> };

/**
 * PATCH /settings: all of the given keys or, when one breaks a rule, none; null restores the default.
 * @throws AppError invalid naming each key that is not known or whose value breaks a rule
 */
export async function patchFleetSettings(
  ctx: PatchContext,
  patch: Record<string, unknown>,
): Promise<FleetSettings> {
  const issues: Issue[] = [];
  const values: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(patch)) {
    if (!isKnown(key)) {
      issues.push(...toIssues([UNKNOWN(key)], "body"));
      continue;
    }
    const parsed = value === null ? null : FLEET_SETTINGS[key].schema.safeParse(value);
    if (parsed?.success === false) issues.push(...toIssues(parsed.error.issues, "body", key));
    else values[key] = parsed?.data ?? null;
  }
  if (issues.length > 0) throw new AppError("invalid", issues);
  for (const key of ["default_engine", "judge_engine"] as const)
    await checkEngineSetting(ctx, key, values[key]);
  await ctx.db.settings.setAll(values, ctx.clock.now());
  for (const key of Object.keys(values)) ctx.settings_cache.delete(key as FleetSettingKey);
  ctx.log.info({ settings: Object.keys(values) }, "settings changed");
  return readFleetSettings(ctx);
}

const isKnown = (key: string): key is FleetSettingKey => Object.hasOwn(FLEET_SETTINGS, key);
const UNKNOWN = (key: string) => ({
  code: "unrecognized_keys",
  message: "unknown key",
  path: [],
  keys: [key],
});

/** An engine that is deleted later leaves the setting behind; whatever needs the engine then gets an error. */
async function checkEngineSetting(
  ctx: PatchContext,
  key: "default_engine" | "judge_engine",
  slug: unknown,
): Promise<void> {
  if (typeof slug !== "string") return;
  const row = await ctx.db.engines.get(slug);
  if (!row) throw invalid(["body", key], "names an engine that does not exist");
  if (key === "default_engine" && row.kind === "reasoning")
    throw invalid(
      ["body", key],
      "names an engine of kind reasoning: code comes from one of kind chat or vision-chat",
    );
}
