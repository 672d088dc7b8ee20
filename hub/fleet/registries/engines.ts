import type { EngineRow } from "#hub/platform/db/rows.ts";
import { AppError, conflict, errorMessage, invalid, notFound } from "#shared/kit/errors.ts";
import { completionsUrl } from "#shared/llm/endpoint.ts";
import type { ResolvedEngine } from "#shared/protocol/schema/engine.ts";
import type { JobOptions } from "#shared/protocol/schema/job.ts";
import type { FleetContext } from "../context.ts";
import { fleetSetting, type SettingsContext } from "./fleet-settings.ts";

/**
 * What an engine is wanted for; only engines of kind chat or vision-chat write code
 * (rules/engines#which-engine-counts).
 */
export const ENGINE_PURPOSES = ["codegen", "judge", "ask", "agent"] as const;
export type EnginePurpose = (typeof ENGINE_PURPOSES)[number];

/** Words that stand for an engine where a slug is expected, and so cannot be slugs themselves. */
const AUTO = "auto";
const DEFAULT = "default";
/** What the engine of CODEGEN_LLM_URL is called; it has no row. */
const ENVIRONMENT = "environment";
export const RESERVED_ENGINE_SLUGS: readonly string[] = [AUTO, DEFAULT, ENVIRONMENT];

/** The default of an engine that has a row. */
const ENVIRONMENT_TIMEOUT_S = 120;

export type EngineContext = SettingsContext & {
  readonly db: Pick<FleetContext["db"], "settings" | "engines">;
};

const writesCode = ({ kind, protocol }: EngineRow): boolean =>
  kind !== "reasoning" && protocol === "openai";
const suits = (row: EngineRow, purpose: EnginePurpose): boolean =>
  purpose !== "codegen" || writesCode(row);

const only = (rows: EngineRow[]): EngineRow | undefined =>
  rows.length === 1 ? rows[0] : undefined;

/** The promoted engine, else the only one (rules/engines#which-engine-counts). */
const autoOf = (rows: EngineRow[]): EngineRow | undefined =>
  rows.find((row) => row.promoted) ?? only(rows);

/**
 * The engine for a purpose with everything its caller needs, including the key: keep it in memory only. `auto` is the
 * promoted engine, else the only one. Null or `default` is the one of the setting judge_engine (for the judge) or
 * default_engine, else the promoted one, else the only one that is for code, else that of CODEGEN_LLM_URL.
 * @throws AppError not_found for a slug or `auto` that names none; invalid when none is configured, its kind is not one that
 *   writes code, or the variable with its key is not set
 */
export async function resolveEngine(
  ctx: EngineContext,
  slug: string | null,
  purpose: EnginePurpose,
): Promise<ResolvedEngine> {
  const rows = await ctx.db.engines.list();
  if (slug === null || slug === DEFAULT) return defaultEngine(ctx, rows, purpose);
  const row = slug === AUTO ? autoOf(rows) : rows.find((known) => known.slug === slug);
  if (!row) throw slug === AUTO ? noAuto() : notFound(`engine ${slug}`);
  if (!suits(row, purpose)) throw new AppError("invalid", `engine ${row.slug} ${NO_CODE}`);
  return resolved(ctx, row);
}

const NO_CODE = "is of kind reasoning: code comes from one of kind chat or vision-chat";
const noAuto = () =>
  new AppError(
    "not_found",
    "engine auto not found: no engine is promoted, and there is not exactly one to choose",
  );

/** What a codegen-loop job needs: who writes its scripts, and who judges them. */
export interface LoopEngines {
  planner: ResolvedEngine;
  judge: ResolvedEngine;
}

/** The judge is the setting's, else the planner itself. @throws AppError as `resolveEngine`. */
export async function loopEngines(ctx: EngineContext, slug: string | null): Promise<LoopEngines> {
  const planner = await resolveEngine(ctx, slug, "codegen");
  const named = await fleetSetting(ctx, "judge_engine");
  return { planner, judge: named === null ? planner : await resolveEngine(ctx, null, "judge") };
}

/** @throws AppError invalid */
async function defaultEngine(
  ctx: EngineContext,
  rows: EngineRow[],
  purpose: EnginePurpose,
): Promise<ResolvedEngine> {
  const keys =
    purpose === "judge"
      ? (["judge_engine", "default_engine"] as const)
      : (["default_engine"] as const);
  for (const key of keys) {
    const named = await fleetSetting(ctx, key);
    if (named === null) continue;
    const row = rows.find((known) => known.slug === named);
    if (row && suits(row, purpose)) return resolved(ctx, row);
    const why = row ? NO_CODE : "is not there";
    throw new AppError("invalid", `the setting ${key} names engine ${named}, which ${why}`);
  }
  const fit = rows.filter((row) => suits(row, purpose));
  const row = fit.find((r) => r.promoted) ?? only(fit.filter((r) => r.use_for_codegen));
  if (row) return resolved(ctx, row);
  return fromEnvironment(ctx) ?? noDefault(rows);
}

function fromEnvironment({ config: { codegen } }: EngineContext): ResolvedEngine | null {
  if (codegen === null) return null;
  return {
    slug: ENVIRONMENT,
    kind: "chat",
    url: completionsUrl(codegen.url),
    model: codegen.model,
    timeout_s: ENVIRONMENT_TIMEOUT_S,
    headers: codegen.api_key === null ? {} : bearer(codegen.api_key),
    supports_tools: false,
  };
}

function noDefault(rows: EngineRow[]): never {
  const how = "promote one (POST /engines/{slug}/promote) or set default_engine (PATCH /settings)";
  throw new AppError(
    "invalid",
    rows.length === 0
      ? "no engine is configured: add one with PUT /engines/{slug}, or set CODEGEN_LLM_URL and CODEGEN_MODEL_NAME"
      : `no engine is the default one: ${how}`,
  );
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

/** @throws AppError invalid naming the variable that holds no key, or may not be used as one */
function resolved({ config }: EngineContext, row: EngineRow): ResolvedEngine {
  const { slug, kind, model, timeout_s, supports_tools, api_key_env } = row;
  const known = { slug, kind, url: completionsUrl(row.endpoint), model, timeout_s, supports_tools };
  if (api_key_env === null) return { ...known, headers: {} };
  const key = config.engineKey(api_key_env);
  if (key === null)
    throw new AppError(
      "invalid",
      `engine ${slug} names ${api_key_env} as its key, which SVC_ENGINE_KEY_ENV does not allow`,
    );
  if (key === undefined)
    throw new AppError(
      "invalid",
      `engine ${slug} needs its key in the hub's variable ${api_key_env}, which is not set`,
    );
  return { ...known, headers: bearer(key) };
}

/**
 * Whether a job may be submitted with regard to its engines (rules/job-options#the-engine-of-a-job): a job that writes
 * scripts needs them now, and not only once it has waited for a lane and opened its page.
 * @throws AppError invalid naming `codegen_engine`; conflict saying what to configure
 */
export async function requireEngines(
  ctx: EngineContext,
  { mode, codegen_engine }: Pick<JobOptions, "mode" | "codegen_engine">,
): Promise<void> {
  await checkEngine(ctx, codegen_engine);
  if (mode !== "codegen-loop") return;
  await loopEngines(ctx, codegen_engine).catch((err: unknown) => {
    const unset = err instanceof AppError && (err.kind === "invalid" || err.kind === "not_found");
    throw unset ? conflict(noEngines(err)) : err;
  });
}

/** Why a codegen-loop job has no engines. */
export const noEngines = (err: unknown): string =>
  `no engine to write scripts with: ${errorMessage(err)}`;

/**
 * Whether `options.codegen_engine` may be submitted (rules/job-options#the-engine-of-a-job); null always may.
 * @throws AppError invalid naming the field
 */
export async function checkEngine(ctx: EngineContext, slug: string | null): Promise<void> {
  if (slug === null) return;
  const refuse = (msg: string) => invalid(["body", "options", "codegen_engine"], msg);
  const rows = await ctx.db.engines.list();
  const row = slug === AUTO ? autoOf(rows) : rows.find((known) => known.slug === slug);
  if (!row)
    throw refuse(
      slug === AUTO
        ? "names no engine: no engine is promoted, and there is not exactly one to choose"
        : "names an engine that does not exist",
    );
  if (!writesCode(row)) throw refuse(`names an engine that ${NO_CODE}`);
}
