import { readFile, stat } from "node:fs/promises";
import type { Protocol } from "devtools-protocol";
import { errorMessage } from "#shared/kit/errors.ts";
import type { LaneBrowser } from "../lanes/lane-browser.ts";

type Cookie = Protocol.Network.Cookie;
type CookieParam = Protocol.Network.CookieParam;

/** Reading and setting thousands of cookies takes a fraction of this, unless the machine is starved. */
const COOKIES_MS = 60_000;
/** Chromium keeps some 3,000 cookies, of 4 KB at most. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** Every cookie the browser can use, without those it could not decrypt. */
export async function readCookies(browser: LaneBrowser): Promise<Cookie[]> {
  const { root } = browser.connection;
  return (await root.send("Storage.getCookies", {}, { timeout_ms: COOKIES_MS })).cookies;
}

/** A cookie of one host has no domain of its own: given one, Chromium would send it to subdomains too. */
function toParam(cookie: Cookie): CookieParam {
  const { name, value, domain, path, secure, httpOnly, sameSite, priority, partitionKey } = cookie;
  const host_only = !domain.startsWith(".");
  return {
    name,
    value,
    path,
    secure,
    httpOnly,
    ...(host_only ? { url: `${secure ? "https" : "http"}://${domain}${path}` } : { domain }),
    ...(sameSite === undefined ? {} : { sameSite }),
    ...(priority === undefined ? {} : { priority }),
    ...(partitionKey === undefined ? {} : { partitionKey }),
    ...(cookie.session || cookie.expires <= 0 ? {} : { expires: cookie.expires }),
  };
}

/** Puts cookies into the browser. @returns how many it did not take. */
export async function writeCookies(browser: LaneBrowser, cookies: Cookie[]): Promise<number> {
  if (cookies.length === 0) return 0;
  const { root } = browser.connection;
  const set = (some: CookieParam[]) =>
    root.send("Storage.setCookies", { cookies: some }, { timeout_ms: COOKIES_MS });
  const params = cookies.map(toParam);
  try {
    await set(params);
    return 0;
  } catch {
    // One refused cookie makes the whole batch fail.
    let refused = 0;
    for (const param of params) await set([param]).catch(() => (refused += 1));
    return refused;
  }
}

const isCookie = (value: unknown): value is Cookie => {
  if (typeof value !== "object" || value === null) return false;
  const { name, domain, path } = value as Record<string, unknown>;
  const { value: text, expires } = value as Record<string, unknown>;
  return (
    [name, domain, path, text].every((v) => typeof v === "string") && typeof expires === "number"
  );
};

/** The cookies of a file that `profile_save` wrote; [] when there is none. @throws when it is damaged. */
export async function readCookieFile(path: string): Promise<Cookie[]> {
  const size = await stat(path).then(
    (found) => found.size,
    () => 0,
  );
  if (size === 0) return [];
  if (size > MAX_FILE_BYTES) throw new Error("the profile's cookie file is too large");
  const text = await readFile(path, "utf8");
  let cookies: unknown;
  try {
    cookies = JSON.parse(text);
  } catch (err) {
    throw new Error(`the profile's cookie file is damaged: ${errorMessage(err)}`);
  }
  return Array.isArray(cookies) ? cookies.filter(isCookie) : [];
}
