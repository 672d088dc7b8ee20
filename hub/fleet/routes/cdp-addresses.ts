import { getPath } from "hono/utils/url";
import { SESSION_ID } from "#shared/protocol/ids.ts";

/** `/sessions/<id>/json/…`, as clients ask that put a browser's own paths after the address they were given. */
const BELOW = /^(\/(?:sessions|links)\/[^/]+)(\/(?:json|devtools)(?:\/.*)?)$/;
const RECORD = /^\/sessions\/[^/]+\/?$/;

const isSocket = (request: Request): boolean =>
  request.headers.get("upgrade")?.toLowerCase() === "websocket";

/** The session that the query names; null when it names none that could be. */
function sessionIn({ url }: Request): string | null {
  if (!url.includes("session=")) return null;
  const named = new URL(url).searchParams.get("session") ?? "";
  return SESSION_ID.test(named) ? named : null;
}

/**
 * The path by which a call is routed: the other addresses of CDP (rules/cdp#addresses) are spelled as `/sessions/{sid}/cdp/…`
 * or `/cdp…`, so that access, the owner among several hubs and what is logged of a call are decided by one path.
 */
export function cdpPath(request: Request): string {
  const path = getPath(request);
  if (path.startsWith("/sessions/") || path.startsWith("/links/")) {
    const [, owner, asked] = BELOW.exec(path) ?? [];
    if (owner !== undefined) return `${owner}/cdp${asked}`;
    return RECORD.test(path) && isSocket(request) ? `${path.replace(/\/$/, "")}/cdp` : path;
  }
  const asked = askedOfBrowser(path, request);
  if (asked === null) return path;
  const session = sessionIn(request);
  return session === null ? `/cdp${asked}` : `/sessions/${session}/cdp${asked}`;
}

/** What a call of `/cdp…`, `/json…` or a socket of `/` asks of a browser; null for any other path. */
function askedOfBrowser(path: string, request: Request): string | null {
  if (path === "/") return isSocket(request) ? "" : null;
  if (path === "/cdp" || path.startsWith("/cdp/")) return path.slice("/cdp".length);
  return path === "/json" || path.startsWith("/json/") ? path : null;
}
