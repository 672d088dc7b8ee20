import type { Context } from "hono";

/** The headers of a call for another hub, which judges its caller again: a token in the query is in the header there. */
export function withTokenHeader(c: Context): Headers {
  const headers = new Headers(c.req.raw.headers);
  const token = c.req.query("token");
  if (!headers.has("authorization") && token) headers.set("authorization", `Bearer ${token}`);
  return headers;
}
