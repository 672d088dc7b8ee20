import { hideCredentials } from "#shared/kit/hide-credentials.ts";

const MAX_PATH = 300;
/**
 * A session's id opens its viewer (rules/access#session-id-as-key), and a link opens what it names, so only the
 * beginning of both is shown.
 */
const KEYS = /(\/(?:sessions?|links)\/[^/]{4})[^/]+/g;

/** The path of a call as it was sent, for logs: no query, no credentials, no keys. It may be a target URL. */
export const shownPath = (url: string): string =>
  // Decoded, a password in the URL could look like its end.
  hideCredentials(url.replace(/^[a-z]+:\/\/[^/?#]*/i, "").replace(/\?.*$/s, ""))
    .replace(KEYS, "$1…")
    .slice(0, MAX_PATH);
