import type { StoredCookie } from "#shared/protocol/schema/cookie.ts";
import type { CdpConnection, Protocol } from "../cdp/connection.ts";
import type { JobRun } from "../lanes/lane-browser.ts";

const MAX_NAMED = 10;

/**
 * A cookie for one host is identified by its URL, one that includes subdomains by its domain with a dot
 * (rules/hosts#cookies-of-a-host).
 */
function cookieParam(cookie: StoredCookie): Protocol.Network.CookieParam {
  const { name, value, domain, path, expires, http_only, secure, same_site } = cookie;
  const bare = domain.replace(/^\./, "");
  return {
    name,
    value,
    path,
    secure,
    httpOnly: http_only,
    // Chromium refuses None on a cookie that is not secure; without a value it is Lax.
    ...(same_site === "None" && !secure ? {} : { sameSite: same_site }),
    ...(expires < 0 ? {} : { expires }),
    url: `${secure ? "https" : "http"}://${bare}${path}`,
    ...(domain.startsWith(".") ? { domain } : {}),
  };
}

/**
 * Puts the registry's cookies into the browser before its first navigation (rules/hosts#cookies-of-a-job). The job's
 * log says how many there are and for which hosts, and names those that the browser refused; never a value.
 */
export async function injectCookies({ browser, extras, story }: JobRun): Promise<void> {
  const { cookies } = extras;
  if (cookies.length === 0) return;
  const refused = await setCookies(browser.connection, cookies);
  const taken = cookies.filter((cookie) => !refused.includes(cookie));
  const hosts = [...new Set(taken.map(({ domain }) => domain.replace(/^\./, "")))];
  const more = hosts.length > MAX_NAMED ? ` and ${hosts.length - MAX_NAMED} more` : "";
  if (taken.length > 0)
    story.log(
      "info",
      "navigate",
      `${taken.length} ${taken.length === 1 ? "cookie" : "cookies"} of ${hosts.slice(0, MAX_NAMED).join(", ")}${more} injected`,
    );
  for (const { name, domain } of refused.slice(0, MAX_NAMED))
    story.log("warn", "navigate", `Chromium refused the cookie ${name} of ${domain}`);
  if (refused.length > MAX_NAMED)
    story.log("warn", "navigate", `and ${refused.length - MAX_NAMED} more cookies`);
}

/** Sets all at once; when one is refused all are, so it then sets them one by one. @returns the refused ones. */
export async function setCookies(
  { root }: CdpConnection,
  cookies: StoredCookie[],
): Promise<StoredCookie[]> {
  const set = (some: StoredCookie[]) =>
    root.send("Storage.setCookies", { cookies: some.map(cookieParam) });
  try {
    await set(cookies);
    return [];
  } catch {
    const answers = await Promise.allSettled(cookies.map((cookie) => set([cookie])));
    return cookies.filter((_, i) => answers[i]?.status === "rejected");
  }
}
