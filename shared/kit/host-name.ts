/** Characters that a host name must not contain, so that parsing it as a URL cannot find a port, path or user in it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are part of what is refused
const NOT_A_HOST = /[\u0000-\u0020\u007f/?#@\\%]/;

const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?)$/;

/**
 * A host name as URLs have it: lower case, punycode, numeric addresses in their usual form, no dot at the end; null
 * for anything else.
 */
export function canonicalHost(raw: string): string | null {
  if (raw.length > 253 || NOT_A_HOST.test(raw)) return null;
  if (raw.includes(":") && !/^\[[0-9a-f:.]+\]$/i.test(raw)) return null;
  const url = `http://${raw}/`;
  const host = URL.canParse(url) ? new URL(url).hostname.replace(/\.$/, "") : "";
  return host.length <= 253 && HOST.test(host) ? host : null;
}
