import type { Context } from "hono";
import { badRequest } from "#shared/kit/errors.ts";
import { isNestedDeeper, NESTED_DEEPER } from "#shared/kit/json.ts";

/**
 * The body as text, as `c.req.json()` will parse it; null when it is not UTF-8 or ends early. JSON is UTF-8: read
 * loosely, other bytes would be stored as U+FFFD.
 * @throws AppError bad_request when it is nested too deeply, before anything parses it.
 */
export async function jsonText(c: Context): Promise<string | null> {
  const { bodyCache } = c.req;
  // Set by an earlier call, which has judged it.
  if (bodyCache.text !== undefined) return bodyCache.text;
  const bytes = await c.req.arrayBuffer().catch(() => null);
  if (bytes === null) return null;
  if (isNestedDeeper(new Uint8Array(bytes))) throw badRequest(`body ${NESTED_DEEPER}`);
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    // What `c.req.json()` awaits; its type names the parsed value.
    bodyCache.text = Promise.resolve(text) as unknown as string;
    return text;
  } catch {
    return null;
  }
}

/** The body as JSON, whatever its content type says. @throws AppError bad_request */
export async function jsonBody(c: Context): Promise<unknown> {
  const text = await jsonText(c);
  if (text === null) throw badRequest("body is not valid UTF-8");
  try {
    return JSON.parse(text);
  } catch {
    throw badRequest("body is not valid JSON");
  }
}
