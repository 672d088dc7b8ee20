import type { MiddlewareHandler } from "hono";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import { jsonText } from "#hub/platform/http/json-text.ts";
import { isObject } from "#shared/kit/is-object.ts";
import { parseJson } from "#shared/kit/json.ts";
import { RegistrySlug } from "#shared/protocol/schema/engine.ts";
import type { FleetContext } from "../context.ts";
import { withPreset } from "../registries/presets.ts";

function parsed(text: string | null): unknown {
  try {
    return parseJson(text ?? "");
  } catch {
    return undefined;
  }
}

/**
 * Puts the options of the preset that a body names below the body's own, before anything is validated: afterwards
 * nothing could tell the client's values from defaults, and a rule like "goal is required" applies to both together. A
 * body that is no job at all passes unchanged, and is refused later.
 */
export const mergePreset = (ctx: Pick<FleetContext, "db">): MiddlewareHandler<HttpEnv> =>
  async function mergePresetOptions(c, next) {
    const body = parsed(await jsonText(c));
    if (!isObject(body)) return next();
    const { preset, options = {} } = body;
    if (!RegistrySlug.safeParse(preset).success || !isObject(options)) return next();
    const merged = { ...body, options: await withPreset(ctx, String(preset), options) };
    // What `c.req.json()` awaits; its type names the parsed value.
    c.req.bodyCache.text = Promise.resolve(JSON.stringify(merged)) as unknown as string;
    return next();
  };
