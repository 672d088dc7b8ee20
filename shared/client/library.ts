import { type CallOptions, everyItem, type Http } from "./http.ts";
import type {
  Convention,
  Engine,
  FleetSettings,
  Preset,
  PutConventionInput,
  PutEngineInput,
  PutPresetInput,
  PutSkillInput,
  Skill,
  SkillListQuery,
} from "./types.ts";

/** What every registry with slugs has: one call each for list, get, put (creates or replaces) and delete. */
function slugCalls<Row, Put>(http: Http, name: string) {
  const at = (slug: string) => `/${name}/${encodeURIComponent(slug)}`;
  return {
    get: (slug: string, call?: CallOptions) => http.json<Row>("GET", at(slug), call),
    put: (slug: string, row: Put, call?: CallOptions) =>
      http.json<Row>("PUT", at(slug), { ...call, json: row }),
    delete: (slug: string, call?: CallOptions) => http.json<null>("DELETE", at(slug), call),
  };
}

/** AI backends (rules/engines#engine-calls). */
export const engineCalls = (http: Http) => ({
  ...slugCalls<Engine, PutEngineInput>(http, "engines"),
  list: (call?: CallOptions) => everyItem<Engine>(http, "/engines", "engines", call),
  /** Makes this the engine that `auto` prefers. */
  promote: (slug: string, call?: CallOptions) =>
    http.json<Engine>("POST", `/engines/${encodeURIComponent(slug)}/promote`, call),
});

/** Named options for jobs (rules/library#presets). */
export const presetCalls = (http: Http) => ({
  ...slugCalls<Preset, PutPresetInput>(http, "presets"),
  list: (call?: CallOptions) => everyItem<Preset>(http, "/presets", "presets", call),
});

/** Pieces of script that the planner may use (rules/library#skills). */
export const skillCalls = (http: Http) => ({
  ...slugCalls<Skill, PutSkillInput>(http, "skills"),
  list: (query: Partial<SkillListQuery> = {}, call?: CallOptions) =>
    everyItem<Skill>(http, "/skills", "skills", call, query),
});

/** House rules that the planner receives (rules/library#conventions). */
export const conventionCalls = (http: Http) => ({
  ...slugCalls<Convention, PutConventionInput>(http, "conventions"),
  list: (call?: CallOptions) => everyItem<Convention>(http, "/conventions", "conventions", call),
});

/** Settings of the fleet (rules/settings#change-settings). */
export const settingCalls = (http: Http) => ({
  get: (call?: CallOptions) => http.json<FleetSettings>("GET", "/settings", call),
  /** Null goes back to the default. */
  patch: (settings: Record<string, unknown>, call?: CallOptions) =>
    http.json<FleetSettings>("PATCH", "/settings", { ...call, json: settings }),
});
