import type { z } from "zod";
import type { Convention, PutConvention } from "#shared/protocol/schema/convention.ts";
import type { Engine, PutEngine } from "#shared/protocol/schema/engine.ts";
import type { FleetSettings } from "#shared/protocol/schema/fleet-settings.ts";
import type { Preset, PutPreset } from "#shared/protocol/schema/preset.ts";
import type { PutSkill, Skill, SkillListQuery } from "#shared/protocol/schema/skill.ts";
import { type CallOptions, everyItem, type Http } from "./http.ts";

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
  ...slugCalls<Engine, z.input<typeof PutEngine>>(http, "engines"),
  list: (call?: CallOptions) => everyItem<Engine>(http, "/engines", "engines", call),
  /** Makes it the one that `auto` prefers. */
  promote: (slug: string, call?: CallOptions) =>
    http.json<Engine>("POST", `/engines/${encodeURIComponent(slug)}/promote`, call),
});

/** Named options for jobs (rules/library#presets). */
export const presetCalls = (http: Http) => ({
  ...slugCalls<Preset, z.input<typeof PutPreset>>(http, "presets"),
  list: (call?: CallOptions) => everyItem<Preset>(http, "/presets", "presets", call),
});

/** Pieces of script that the planner is offered (rules/library#skills). */
export const skillCalls = (http: Http) => ({
  ...slugCalls<Skill, z.input<typeof PutSkill>>(http, "skills"),
  list: (query: Partial<SkillListQuery> = {}, call?: CallOptions) =>
    everyItem<Skill>(http, "/skills", "skills", call, query),
});

/** House rules that the planner is given (rules/library#conventions). */
export const conventionCalls = (http: Http) => ({
  ...slugCalls<Convention, z.input<typeof PutConvention>>(http, "conventions"),
  list: (call?: CallOptions) => everyItem<Convention>(http, "/conventions", "conventions", call),
});

/** Settings of the fleet (rules/settings#change-settings). */
export const settingCalls = (http: Http) => ({
  get: (call?: CallOptions) => http.json<FleetSettings>("GET", "/settings", call),
  /** Null goes back to the default. */
  patch: (settings: Record<string, unknown>, call?: CallOptions) =>
    http.json<FleetSettings>("PATCH", "/settings", { ...call, json: settings }),
});
