import type { EngineRow } from "#hub/platform/db/rows.ts";
import { isRefusedHost } from "#shared/kit/addresses.ts";
import { isoTime } from "#shared/kit/clock.ts";
import { invalid, notFound } from "#shared/kit/errors.ts";
import type { Engine, PutEngine } from "#shared/protocol/schema/engine.ts";
import type { FleetContext } from "../context.ts";
import { RESERVED_ENGINE_SLUGS } from "./engines.ts";
import { removeRow, rowOf, writableSlug } from "./slugs.ts";

const engineRecord = (row: EngineRow): Engine => ({ ...row, updated_at: isoTime(row.updated_at) });

export const listEngines = async (ctx: Pick<FleetContext, "db">): Promise<Engine[]> =>
  (await ctx.db.engines.list()).map(engineRecord);

/** @throws AppError not_found. */
export const getEngine = async (ctx: Pick<FleetContext, "db">, slug: string): Promise<Engine> =>
  engineRecord(await rowOf(ctx.db.engines, slug, "engine"));

/**
 * PUT /engines/{slug} (rules/engines#engine-calls): creates or replaces; a promoted one stays promoted.
 * @throws AppError invalid for a slug or an address that no engine may have
 */
export async function putEngine(
  ctx: Pick<FleetContext, "config" | "db" | "clock" | "log">,
  raw: string,
  input: PutEngine,
): Promise<Engine> {
  const { slug: given, ...engine } = input;
  const slug = writableSlug(raw, given);
  if (RESERVED_ENGINE_SLUGS.includes(slug))
    throw invalid(["path", "slug"], `must not be one of ${RESERVED_ENGINE_SLUGS.join(", ")}`);
  if (engine.api_key_env !== null && ctx.config.engineKey(engine.api_key_env) === null)
    throw invalid(
      ["body", "api_key_env"],
      "must be a variable that SVC_ENGINE_KEY_ENV of the hub allows",
    );
  // A name that resolves to such an address is refused at the time of the call.
  if (isRefusedHost(new URL(engine.endpoint).hostname))
    throw invalid(["body", "endpoint"], "must not be a cloud metadata or link-local address");
  const row = await ctx.db.engines.put({ ...engine, slug, updated_at: ctx.clock.now() });
  ctx.log.info({ engine: slug, host: new URL(row.endpoint).host }, "engine stored");
  return engineRecord(row);
}

/** @throws AppError not_found. */
export const deleteEngine = (ctx: Pick<FleetContext, "db">, slug: string): Promise<void> =>
  removeRow(ctx.db.engines, slug, "engine");

/** Makes it the engine that `auto` prefers; no other stays promoted. @throws AppError not_found. */
export async function promoteEngine(ctx: Pick<FleetContext, "db">, slug: string): Promise<Engine> {
  const row = await ctx.db.engines.promote(slug);
  if (!row) throw notFound("engine");
  return engineRecord(row);
}
