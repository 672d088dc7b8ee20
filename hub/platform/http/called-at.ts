import type { Context } from "hono";
import { isSecure } from "./is-secure.ts";

/** `https://host:port` by which the client reached this server, behind any router; `ws` gives it for WebSockets. */
export function calledAt(c: Context, scheme: "http" | "ws"): string {
  const host = c.req.header("host") ?? new URL(c.req.url).host;
  return `${scheme}${isSecure(c) ? "s" : ""}://${host}`;
}
