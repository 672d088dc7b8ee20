import { canonicalHost } from "#shared/kit/host-name.ts";
import { once } from "#shared/kit/once.ts";

/** The businesses of the list whose requests pages can do without. */
const BLOCKED = ["ad", "analytics"];

/**
 * The hosts that `block.ads` means (rules/browser-options#blocking). The hub tells workers of them, because a worker that
 * updates itself cannot get a package that it does not have. The list is read when it is first asked for.
 */
export const adHosts = once(async (): Promise<string[]> => {
  const { entities } = await import("third-party-web/nostats-subset");
  return entities
    .filter(({ category }) => BLOCKED.includes(category))
    .flatMap(({ domains }) => domains.map((domain) => canonicalHost(domain.replace(/^\*\./, ""))))
    .filter((host) => host !== null);
});
