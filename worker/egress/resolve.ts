import { dns } from "bun";
import { type Clock, withDeadline } from "#shared/kit/clock.ts";
import type { Resolve } from "./judge.ts";

/** How long Chromium keeps an answer without a time to live. */
const KEPT_MS = 60_000;
const MAX_NAMES = 1_000;
const DNS_MS = 10_000;

/**
 * Resolves as every other program of the machine does (`getaddrinfo`: the hosts file, mDNS, search domains), asks once
 * for all callers that wait for a name, and remembers its addresses for a minute. Failures are not remembered.
 */
export function createResolver(clock: Clock, ask: Resolve = systemResolve): Resolve {
  const known = new Map<string, { until: number; addresses: Promise<string[]> }>();
  return (host) => {
    const now = clock.monotonic();
    const found = known.get(host);
    if (found && found.until > now) return found.addresses;
    known.delete(host);
    const addresses = withDeadline("DNS", DNS_MS, ask(host));
    const entry = { until: now + KEPT_MS, addresses };
    addresses.catch(() => known.get(host) === entry && known.delete(host));
    known.set(host, entry);
    const oldest = known.size > MAX_NAMES ? known.keys().next().value : undefined;
    if (oldest !== undefined) known.delete(oldest);
    return addresses;
  };
}

async function systemResolve(host: string): Promise<string[]> {
  const answers = await dns.lookup(host, { backend: "libc" });
  return answers.map(({ address }) => address);
}
