import { writeFile } from "node:fs/promises";
import type { CdpConnection, Protocol } from "../cdp/connection.ts";

export type BrowserCookie = Protocol.Network.Cookie;

/** Every cookie of the browser; the downloaders choose by host and path, as the browser does. */
export async function readCookies({ root }: CdpConnection): Promise<BrowserCookie[]> {
  const { cookies } = await root.send("Storage.getCookies");
  return cookies;
}

/** The file's format allows neither tabs nor line breaks in a field, and browsers keep no cookie that has them. */
const isClean = ({ name, value, domain, path }: BrowserCookie): boolean =>
  [name, value, domain, path].every((field) => !/[\t\r\n\0]/.test(field));

/** The cookies as Netscape's cookies.txt, which yt-dlp reads. */
export function cookiesText(cookies: readonly BrowserCookie[]): string {
  const flag = (on: boolean) => (on ? "TRUE" : "FALSE");
  const lines = cookies
    .filter(isClean)
    .map((c) =>
      [
        `${c.httpOnly ? "#HttpOnly_" : ""}${c.domain}`,
        flag(c.domain.startsWith(".")),
        c.path,
        flag(c.secure),
        c.session ? "0" : String(Math.floor(c.expires)),
        c.name,
        c.value,
      ].join("\t"),
    );
  return `# Netscape HTTP Cookie File\n${lines.join("\n")}\n`;
}

/** Only its owner may read it, because it holds logins. */
export const writeCookies = (path: string, cookies: readonly BrowserCookie[]): Promise<void> =>
  writeFile(path, cookiesText(cookies), { mode: 0o600 });

const covers = (cookie: BrowserCookie, host: string): boolean =>
  cookie.domain.startsWith(".")
    ? host === cookie.domain.slice(1) || host.endsWith(cookie.domain)
    : host === cookie.domain;

const matchesPath = (cookie: string, path: string): boolean =>
  path === cookie ||
  (path.startsWith(cookie) && (cookie.endsWith("/") || path.charAt(cookie.length) === "/"));

/** The Cookie header of a request; empty when nothing matches. */
export function cookieHeader(cookies: readonly BrowserCookie[], raw: string): string {
  const url = new URL(raw);
  return cookies
    .filter((c) => covers(c, url.hostname) && matchesPath(c.path, url.pathname))
    .filter((c) => isClean(c) && (!c.secure || url.protocol === "https:"))
    .map((c) => `${c.name}=${c.value}`)
    .join("; ");
}

/**
 * The cookies of some sites as ffmpeg's `-cookies` takes them. It compares a domain with the host and its port, and,
 * through a proxy, a path with the whole URL (measured with ffmpeg 5.1).
 */
export const cookiesForFfmpeg = (cookies: readonly BrowserCookie[], urls: string[]): string => {
  const lines = new Set<string>();
  for (const { hostname, host, origin, protocol } of urls.map((url) => new URL(url)))
    for (const c of cookies) {
      if (!isClean(c) || c.value.includes(";") || !covers(c, hostname)) continue;
      if (c.secure && protocol !== "https:") continue;
      const path = protocol === "https:" ? c.path : `${origin}${c.path}`;
      lines.add(`${c.name}=${c.value}; domain=${host}; path=${path}`);
    }
  return [...lines].join("\n");
};
