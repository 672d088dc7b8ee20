/** Names of parameters that change with every visit (rules/comparison#urls-that-change); compared in lower case. */
export const VOLATILE_NAMES: ReadonlySet<string> = new Set([
  "_",
  "_dc",
  "_t",
  "_ts",
  "bust",
  "buster",
  "cachebust",
  "cachebuster",
  "cache_buster",
  "cb",
  "no-cache",
  "no_cache",
  "nocache",
  "rand",
  "random",
  "rnd",
  "t",
  "timestamp",
  "ts",
]);

/** Times and long ids, random fractions, UUIDs. */
const VOLATILE_VALUE =
  /^(?:[0-9]{10,}|0\.[0-9]{8,}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/i;

/** Longer URLs match exactly or not at all: a job may have thousands of them. */
const MAX_FUZZY_URL = 4_096;

function isVolatile(part: string): boolean {
  const at = part.indexOf("=");
  if (at < 0) return VOLATILE_NAMES.has(part.toLowerCase()) || VOLATILE_VALUE.test(part);
  return (
    VOLATILE_NAMES.has(part.slice(0, at).toLowerCase()) || VOLATILE_VALUE.test(part.slice(at + 1))
  );
}

/** The URL without the parameters of its query that change with every visit. */
export function stableUrl(url: string): string {
  const begin = url.indexOf("?");
  if (begin < 0 || url.length > MAX_FUZZY_URL) return url;
  const hash = url.indexOf("#", begin);
  const end = hash < 0 ? url.length : hash;
  const kept = url
    .slice(begin + 1, end)
    .split("&")
    .filter((part) => part !== "" && !isVolatile(part));
  const query = kept.length === 0 ? "" : `?${kept.join("&")}`;
  return url.slice(0, begin) + query + url.slice(end);
}
