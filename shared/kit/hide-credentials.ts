/** Stands for every value that is never returned (rules/http#masked-values). */
export const MASK = "***";

/**
 * User name and password of a URL, even with the slashes after its scheme folded or left out. What follows the last @
 * of the authority is the host. No two beginnings share text, so this takes linear time.
 */
const PLAIN = /(^\/*https?:[/\\]*|:[/\\]+)[^/\\?#\s]+@/gi;
/** The same in a percent-encoded URL. A password may hold any character encoded twice, so the last %40 ends it. */
const ENCODED = /(^\/*https?%3a(?:%2f)*|(?::|%3a)(?:%2f)+)[^/\\?#\s]+(?:@|%40)/gi;

/** For logs and sentences: `https://user:pass@host/` as `https://***@host/`. Any text with URLs in it may be given. */
export const hideCredentials = (url: string): string =>
  url.replace(PLAIN, "$1***@").replace(ENCODED, "$1***@");

/** Headers whose values grant access: only their names are recorded. */
export const SECRET_HEADER =
  /^(cookie|set-cookie|(proxy-)?authorization|(x-)?api-key|x-(auth|access|csrf|xsrf)-token)$/i;

/** The value of a header as a capture may keep it. */
export const shownHeader = (name: string, value: string): string =>
  SECRET_HEADER.test(name) ? MASK : hideCredentials(value);
