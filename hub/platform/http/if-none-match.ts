import type { Context } from "hono";

/**
 * Whether the caller already has what this ETag names, so that the answer is 304. Weak and strong tags count alike
 * (RFC 9110 §13.1.2).
 */
export function isHeld(c: Context, etag: string): boolean {
  const header = c.req.header("if-none-match")?.trim();
  if (header === undefined) return false;
  return header === "*" || header.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
}
