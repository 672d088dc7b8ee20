import type { Settings } from "./settings.ts";

/** Longest key of a task. */
export const MAX_ADDRESS = 1_024;
/** Parameters that tell where a visitor came from, and never what a page shows. */
const TRACKING = /^(utm_\w+|gclid|dclid|fbclid|msclkid|mc_[ce]id|igshid)$/i;

/**
 * The one way in which a crawl writes an address, so that two ways of writing it are one page: without its fragment, an
 * empty query and parameters that only track. Null for what is no page of the web, or too long to be a task's key.
 */
export function addressOf(raw: string, base?: string): string | null {
  const url = URL.parse(raw, base);
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "")
    return null;
  url.hash = "";
  const tracking = [...url.searchParams.keys()].filter((name) => TRACKING.test(name));
  for (const name of tracking) url.searchParams.delete(name);
  if (url.search === "") url.search = "";
  return url.href.length > MAX_ADDRESS ? null : url.href;
}

const bareHost = ({ hostname }: URL): string => hostname.replace(/^www\./, "");

const folderOf = ({ pathname }: URL): string => pathname.slice(0, pathname.lastIndexOf("/") + 1);

/** Whether each scope lets a link through that was found on the way from `seed`. */
const SCOPES: Record<Settings["scope"], (url: URL, seed: URL) => boolean> = {
  page: () => false,
  prefix: (url, seed) => url.host === seed.host && url.pathname.startsWith(folderOf(seed)),
  host: (url, seed) => url.host === seed.host,
  domain: (url, seed) =>
    bareHost(url) === bareHost(seed) || url.hostname.endsWith(`.${bareHost(seed)}`),
  any: () => true,
};

/** Decides which links a crawl follows. */
export function scopeOf({ scope, include, exclude }: Settings) {
  const also = include.map((text) => new RegExp(text));
  const never = exclude.map((text) => new RegExp(text));
  return (address: string, seed: string): boolean => {
    const matches = (pattern: RegExp) => pattern.test(address);
    if (never.some(matches)) return false;
    return SCOPES[scope](new URL(address), new URL(seed)) || also.some(matches);
  };
}
