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
} from "./client-types.ts";
import { type CallOptions, everyItem, type Http } from "./http.ts";

const of = (slug: string) => ({ params: { slug } });

/** AI backends (rules/engines#engine-calls). */
export const engineCalls = (http: Http) => ({
  get: (slug: string, call?: CallOptions): Promise<Engine> =>
    http.call("GET /engines/{slug}", { ...call, ...of(slug) }),
  /** Creates or replaces it. */
  put: (slug: string, row: PutEngineInput, call?: CallOptions): Promise<Engine> =>
    http.call("PUT /engines/{slug}", { ...call, ...of(slug), json: row }),
  delete: (slug: string, call?: CallOptions): Promise<null> =>
    http.call("DELETE /engines/{slug}", { ...call, ...of(slug) }),
  list: (call?: CallOptions): Promise<Engine[]> => everyItem(http, "GET /engines", "engines", call),
  /** Makes this the engine that `auto` prefers. */
  promote: (slug: string, call?: CallOptions): Promise<Engine> =>
    http.call("POST /engines/{slug}/promote", { ...call, ...of(slug) }),
});

/** Named options for jobs (rules/library#presets). */
export const presetCalls = (http: Http) => ({
  get: (slug: string, call?: CallOptions): Promise<Preset> =>
    http.call("GET /presets/{slug}", { ...call, ...of(slug) }),
  /** Creates or replaces it. */
  put: (slug: string, row: PutPresetInput, call?: CallOptions): Promise<Preset> =>
    http.call("PUT /presets/{slug}", { ...call, ...of(slug), json: row }),
  delete: (slug: string, call?: CallOptions): Promise<null> =>
    http.call("DELETE /presets/{slug}", { ...call, ...of(slug) }),
  list: (call?: CallOptions): Promise<Preset[]> => everyItem(http, "GET /presets", "presets", call),
});

/** Pieces of script that the planner may use (rules/library#skills). */
export const skillCalls = (http: Http) => ({
  get: (slug: string, call?: CallOptions): Promise<Skill> =>
    http.call("GET /skills/{slug}", { ...call, ...of(slug) }),
  /** Creates or replaces it. */
  put: (slug: string, row: PutSkillInput, call?: CallOptions): Promise<Skill> =>
    http.call("PUT /skills/{slug}", { ...call, ...of(slug), json: row }),
  delete: (slug: string, call?: CallOptions): Promise<null> =>
    http.call("DELETE /skills/{slug}", { ...call, ...of(slug) }),
  list: (query: Partial<SkillListQuery> = {}, call?: CallOptions): Promise<Skill[]> =>
    everyItem(http, "GET /skills", "skills", { ...call, query }),
});

/** House rules that the planner receives (rules/library#conventions). */
export const conventionCalls = (http: Http) => ({
  get: (slug: string, call?: CallOptions): Promise<Convention> =>
    http.call("GET /conventions/{slug}", { ...call, ...of(slug) }),
  /** Creates or replaces it. */
  put: (slug: string, row: PutConventionInput, call?: CallOptions): Promise<Convention> =>
    http.call("PUT /conventions/{slug}", { ...call, ...of(slug), json: row }),
  delete: (slug: string, call?: CallOptions): Promise<null> =>
    http.call("DELETE /conventions/{slug}", { ...call, ...of(slug) }),
  list: (call?: CallOptions): Promise<Convention[]> =>
    everyItem(http, "GET /conventions", "conventions", call),
});

/** Settings of the fleet (rules/settings#change-settings). */
export const settingCalls = (http: Http) => ({
  get: (call?: CallOptions): Promise<FleetSettings> => http.call("GET /settings", call),
  /** Null restores the default. */
  patch: (settings: Record<string, unknown>, call?: CallOptions): Promise<FleetSettings> =>
    http.call("PATCH /settings", { ...call, json: settings }),
});
