import { z } from "zod";
import type { HubConfig } from "#hub/platform/config.ts";
import { LANE_RESERVE_S, RUN_CONCURRENCY } from "#shared/protocol/limits.ts";
import { BrowserOptions } from "#shared/protocol/schema/browser-options.ts";
import { RegistrySlug } from "#shared/protocol/schema/engine.ts";
import { RecordMode } from "#shared/protocol/schema/record-mode.ts";
import { WebhookUrl } from "#shared/protocol/schema/webhook-url.ts";

/** One key of PATCH /settings (rules/settings#keys). A default may come from a variable. */
interface FleetSetting<S extends z.ZodType> {
  description: string;
  schema: S;
  fallback(config: HubConfig): z.output<S>;
}
const setting = <S extends z.ZodType>(
  schema: S,
  fallback: z.output<S> | ((config: HubConfig) => z.output<S>),
  description: string,
): FleetSetting<S> => ({
  schema,
  description,
  fallback:
    typeof fallback === "function" ? (fallback as (c: HubConfig) => z.output<S>) : () => fallback,
});

const Origin = z
  .string()
  .max(300)
  .refine((s) => s === "*" || (URL.canParse(s) && new URL(s).origin === s), {
    error: "must be origins such as https://ops.example.org, or *",
  });

/** Settings of the fleet by key. They share their table with the control plane's, whose keys begin with `control.`. */
export const FLEET_SETTINGS = {
  min_asset_size_bytes: setting(
    z.int().min(0).max(Number.MAX_SAFE_INTEGER),
    ({ min_asset_size_bytes }) => min_asset_size_bytes,
    "Assets smaller than this many bytes are dropped when a job does not say otherwise; 0 = none",
  ),
  default_engine: setting(
    RegistrySlug.nullable(),
    null,
    "Slug of the engine that writes scripts, asks and acts when none is named; null: the promoted one",
  ),
  judge_engine: setting(
    RegistrySlug.nullable(),
    null,
    "Slug of the engine that judges scripts; null: the default one",
  ),
  retention_days: setting(
    z.number().min(0).max(36_500),
    0,
    "Days after which jobs that ended are deleted with their files; 0 = never",
  ),
  retention_max_bytes: setting(
    z.int().min(0).max(Number.MAX_SAFE_INTEGER),
    0,
    "Bytes that assets and documents of all jobs may take; while there are more, the oldest jobs that ended are deleted; 0 = no bound",
  ),
  retention_max_count: setting(
    z.int().min(0).max(Number.MAX_SAFE_INTEGER),
    0,
    "Jobs that ended to keep; the oldest beyond are deleted with their files; 0 = all",
  ),
  record: setting(
    RecordMode,
    "screen",
    "What is recorded of jobs and sessions that do not say it themselves: off, events or screen",
  ),
  browser_options: setting(
    BrowserOptions,
    {},
    "What browsers show pages of themselves when neither the job or session nor its host says it",
  ),
  recording_days: setting(
    z.number().min(0).max(36_500),
    30,
    "Days after which recordings that ended are deleted; 0 = only with their job",
  ),
  recording_max_bytes: setting(
    z.int().min(0).max(Number.MAX_SAFE_INTEGER),
    50_000_000_000,
    "Bytes all recordings may take; while there are more, the oldest that ended are deleted; 0 = no bound",
  ),
  recording_max_count: setting(
    z.int().min(0).max(Number.MAX_SAFE_INTEGER),
    0,
    "Recordings that ended to keep; the oldest beyond are deleted; 0 = all",
  ),
  max_concurrent_runs: setting(
    z.int().min(RUN_CONCURRENCY.min).max(RUN_CONCURRENCY.max),
    RUN_CONCURRENCY.default,
    "Scripted jobs (codegen-loop and rerun) that one hub runs at a time",
  ),
  lane_reserve_s: setting(
    z.number().min(0).max(LANE_RESERVE_S.max),
    LANE_RESERVE_S.default,
    "Seconds for which a scripted job leaves the last free lane of several to fetch jobs; 0 = not at all",
  ),
  preview_interval_s: setting(
    z.number().gt(0).max(3_600),
    2,
    "Seconds for which a preview picture of a session is shown again before a new one is taken",
  ),
  cors_origins: setting(
    z.array(Origin).max(100),
    [],
    "Origins allowed by CORS beside those of SVC_CORS_ORIGINS",
  ),
  webhook_url: setting(
    WebhookUrl.nullable(),
    null,
    "URL that is sent the record of every job that ends, as JSON; null: none",
  ),
} as const;

export type FleetSettingKey = keyof typeof FLEET_SETTINGS;
export type FleetSettingValue<K extends FleetSettingKey> = z.output<
  (typeof FLEET_SETTINGS)[K]["schema"]
>;
export const FLEET_SETTING_KEYS = Object.keys(FLEET_SETTINGS) as FleetSettingKey[];
