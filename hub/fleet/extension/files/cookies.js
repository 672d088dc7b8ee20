// Cookies of this browser in the shape of the hub (StoredCookie).

const SAME_SITE = { no_restriction: "None", lax: "Lax", strict: "Strict", unspecified: "Lax" };
/** One call stays far below what a hub takes; sending a part twice changes nothing. */
const MAX_COOKIES = 500;
const MAX_CHARS = 500_000;

/** No browser sends such a cookie, and the hub would refuse the whole call because of it. */
const isClean = ({ name, value, domain, path }) =>
  domain !== "" && !/\p{Cc}/u.test(name + value + path) && name.length + value.length <= 8_192;

const stored = (cookie) => ({
  name: cookie.name,
  value: cookie.value,
  domain: cookie.domain,
  path: cookie.path,
  expires: cookie.session || cookie.expirationDate === undefined ? -1 : cookie.expirationDate,
  http_only: cookie.httpOnly,
  secure: cookie.secure,
  same_site: SAME_SITE[cookie.sameSite] ?? "Lax",
});

/** Whether `host` is sent this cookie, on some path. */
const isFor = (host, { domain, hostOnly }) => {
  const bare = domain.replace(/^\./, "");
  return host === bare || (!hostOnly && host.endsWith(`.${bare}`));
};

/** The cookies of one host, or of all when `host` is null. */
export async function readCookies(host) {
  const all = await chrome.cookies.getAll({});
  return all.filter((c) => isClean(c) && (host === null || isFor(host, c))).map(stored);
}

export function inParts(cookies) {
  const parts = [];
  let part = [];
  let chars = 0;
  for (const cookie of cookies) {
    const size = JSON.stringify(cookie).length;
    if (part.length >= MAX_COOKIES || (part.length > 0 && chars + size > MAX_CHARS)) {
      parts.push(part);
      part = [];
      chars = 0;
    }
    part.push(cookie);
    chars += size;
  }
  if (part.length > 0) parts.push(part);
  return parts;
}
