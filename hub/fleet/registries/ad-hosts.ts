import { canonicalHost } from "#shared/kit/host-name.ts";
import { once } from "#shared/kit/once.ts";
import type { BrowserOptions } from "#shared/protocol/schema/browser-options.ts";

/** The businesses of the list whose requests pages can do without. */
const BLOCKED = ["ad", "analytics"];

const readHosts = once(async (): Promise<string[]> => {
  const { entities } = await import("third-party-web/nostats-subset");
  return entities
    .filter(({ category }) => BLOCKED.includes(category))
    .flatMap(({ domains }) => domains.map((domain) => canonicalHost(domain.replace(/^\*\./, ""))))
    .filter((host) => host !== null);
});

/**
 * What `block.ads` means, for the worker that blocks them: its hosts come from the hub, because a worker that updates itself
 * cannot get a package that it does not have. The list is read when it is first asked for.
 */
export const adHostsFor = async (
  options: BrowserOptions | null,
): Promise<{ ad_hosts?: string[] }> => (options?.block?.ads ? { ad_hosts: await readHosts() } : {});
