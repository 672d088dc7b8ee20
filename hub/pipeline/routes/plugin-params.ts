import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { validationError } from "#hub/platform/http/new-app.ts";
import { badRequest } from "#shared/kit/errors.ts";
import { PluginKey } from "#shared/protocol/schema/plugin.ts";
import { Slug } from "#shared/protocol/schema/workload.ts";
import type { PluginPlace } from "../plugins/state.ts";

const param = (name: string, example: string) =>
  z.string().openapi({ param: { name, in: "path" }, example });

export const PluginParams = z.object({ slug: param("slug", "word-count") });
export const PlaceParams = PluginParams.extend({ key: param("key", "totals") });
export const WebParams = PluginParams.extend({ path: param("path", "index.html") });

/** @throws AppError bad_request */
function decode(text: string, what: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw badRequest(`${what} is not percent-encoded UTF-8`);
  }
}

const Place = z.object({ slug: Slug, key: PluginKey });

/**
 * The plugin and key of a path such as `…/plugins/{slug}/state/{key}`. A slash in the key may be sent as it is or as
 * `%2F`; both name the same key.
 * @throws AppError bad_request, invalid
 */
export function placeOf(c: Context): PluginPlace {
  const [, slug = "", key = ""] =
    /\/plugins\/([^/]*)\/(?:state|blob)\/(.*)$/s.exec(new URL(c.req.url).pathname) ?? [];
  const place = { slug: decode(slug, "slug"), key: decode(key, "key") };
  const parsed = Place.safeParse(place);
  if (!parsed.success) throw validationError(parsed.error.issues, "path", place);
  return parsed.data;
}

/** What follows `…/{after}/` in the path, decoded. @throws AppError bad_request */
export const restOf = (c: Context, after: string): string => {
  const { pathname } = new URL(c.req.url);
  return decode(pathname.slice(pathname.indexOf(`/${after}/`) + after.length + 2), "path");
};
