const PLACE = /^(\[[0-9a-f:.]+\]|[^\s:/?#@[\]]+)(:\d{1,5})?(?=[/?#]|$)/i;
const LOCAL = /^(?:(?:.+\.)?localhost|\d{1,3}(?:\.\d{1,3}){3}|\[.*\])$/i;
/** A dot, followed by a name that is not a number. */
const DOMAIN = /\.(?=[^.]*\D)[^.]{2,}\.?$/;
const MAX_SHOWN = 200;

/**
 * The URL that was probably meant by one without a scheme, such as `example.com/a` or `localhost:8080`; null for text
 * that does not look like a web address.
 */
export function withScheme(raw: string): string | null {
  const [, host = "", port] = PLACE.exec(raw) ?? [];
  const local = LOCAL.test(host);
  if (raw.length > MAX_SHOWN || !(local || DOMAIN.test(host) || (host && port))) return null;
  const scheme = local || (port !== undefined && port !== ":443") ? "http" : "https";
  const url = `${scheme}://${raw}`;
  return URL.canParse(url) ? url : null;
}
