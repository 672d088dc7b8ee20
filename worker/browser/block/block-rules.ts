import { isLike } from "#shared/kit/is-like.ts";
import type { Block, BlockReason } from "#shared/protocol/schema/block.ts";

/** A request before it is made. */
interface Asked {
  url: string;
  /** Chromium's kind in lower case. */
  type: string;
  /** The page that asks; an empty text where nobody knows. */
  page_url: string;
}

/** Why a request is not to be made; null: it may be. */
export type BlockRules = (asked: Asked) => BlockReason | null;

const hostOf = (url: string): string => URL.parse(url)?.hostname ?? "";

/** The host of the list that this one is, or is below of. */
function within(hosts: ReadonlySet<string>, host: string): string | null {
  for (let rest = host; rest !== ""; ) {
    if (hosts.has(rest)) return rest;
    const dot = rest.indexOf(".");
    rest = dot < 0 ? "" : rest.slice(dot + 1);
  }
  return null;
}

/** @param ad_hosts hosts of advertising and analytics; they are blocked on pages of other hosts */
export function createBlockRules(
  { ads = false, types = [], hosts = [], patterns = [] }: Block,
  ad_hosts: readonly string[],
): BlockRules {
  const blocked_types = new Set<string>(types);
  const blocked_hosts = new Set(hosts);
  const of_ads = new Set(ads ? ad_hosts : []);
  return ({ url, type, page_url }) => {
    if (blocked_types.has(type)) return "types";
    const host = hostOf(url);
    if (within(blocked_hosts, host) !== null) return "hosts";
    if (patterns.some((pattern) => isLike(pattern, url))) return "patterns";
    const of_ad = within(of_ads, host);
    if (of_ad === null) return null;
    return within(new Set([of_ad]), hostOf(page_url)) === null ? "ads" : null;
  };
}
