import { canonicalAddress } from "#shared/kit/addresses.ts";
import { bareHost, type EgressRule, matchesEgressRule } from "#shared/protocol/egress-rules.ts";
import type { ProxyScheme } from "#shared/protocol/proxy.ts";

/** A proxy that a gate goes out through. */
export interface Upstream {
  readonly scheme: ProxyScheme;
  readonly host: string;
  readonly port: number;
  readonly login: { username: string; password: string } | null;
  /** Places that are connected to without it. */
  readonly bypass: readonly EgressRule[];
  /** Set by the fleet's operator; a job's own proxy is judged like any other place. */
  readonly trusted: boolean;
  /** For people; never contains the login. */
  readonly shown: string;
}

/**
 * Whether this place is reached without the proxy. A range is compared only with addresses: the proxy resolves names.
 */
export const bypasses = ({ bypass }: Upstream, host: string, port: number): boolean =>
  bypass.some((rule) =>
    matchesEgressRule(rule, { host: bareHost(host), address: canonicalAddress(host) ?? "", port }),
  );
