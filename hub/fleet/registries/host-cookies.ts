import type { StoredCookie } from "#shared/protocol/schema/cookie.ts";

/** The host a cookie is kept under: its domain without the dot. */
export const hostOfCookie = ({ domain }: StoredCookie): string => domain.replace(/^\./, "");

/** The host and the domains above it, nearest first: those whose cookies may be for it. An address has none above. */
export function hostAndParents(host: string): string[] {
  if (host.startsWith("[") || /^[0-9.]+$/.test(host)) return [host];
  const labels = host.split(".");
  return labels.map((_, i) => labels.slice(i).join("."));
}

/**
 * The cookies a job to `host` is given out of the settings of `hostAndParents(host)`: all that the host itself has, and
 * those of its parent domains that are for subdomains too. Expired ones are left out. The nearer host's come last: of two
 * equal ones a browser keeps the one it is given last.
 */
export function cookiesFor(
  host: string,
  rows: readonly { host: string; cookies: StoredCookie[] }[],
  now: number,
): StoredCookie[] {
  return rows
    .toSorted((a, b) => a.host.length - b.host.length)
    .flatMap((row) => row.cookies.filter((c) => row.host === host || c.domain.startsWith(".")))
    .filter((c) => c.expires < 0 || c.expires > now / 1_000);
}
