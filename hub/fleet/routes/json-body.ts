import type { Context } from "hono";
import { AppError, badRequest } from "#shared/kit/errors.ts";
import { parseJson } from "#shared/kit/json.ts";

/** @throws AppError unsupported_media for a body that is not said to be JSON */
export function requireJsonType(c: Context): void {
  const type = c.req.header("content-type") ?? "";
  if (!/^application\/([a-z.-]+\+)?json\b/i.test(type))
    throw new AppError("unsupported_media", "content-type must be application/json");
}

/**
 * The JSON of a call whose schema is chosen by the handler; `{}` for an empty body.
 * @throws AppError unsupported_media, bad_request
 */
export async function jsonBody(c: Context): Promise<unknown> {
  const text = await c.req.text();
  if (text === "") return {};
  requireJsonType(c);
  try {
    return parseJson(text);
  } catch {
    throw badRequest("body is not valid JSON");
  }
}
