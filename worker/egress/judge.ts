import { lookup } from "node:dns/promises";
import { type AddressClass, classifyAddress, isMetadataHost } from "#shared/kit/addresses.ts";
import { withDeadline } from "#shared/kit/clock.ts";
import type { EgressMode } from "#shared/protocol/egress.ts";
import {
  bareHost,
  type EgressRule,
  knownAddresses,
  matchesEgressRule,
  placeOfUrl,
} from "#shared/protocol/egress-rules.ts";
import { isOwn } from "./own-addresses.ts";

/** What lanes may connect to (rules/egress#never-reachable). */
export interface JudgeSettings {
  /** Default `open`. */
  mode?: EgressMode;
  /** Exceptions from `public` and from `navigation_block`; the only places that `listed` allows. */
  allow?: readonly EgressRule[];
  deny?: readonly EgressRule[];
  /** `loopback` and `private` when they must be refused. */
  navigation_block: readonly string[];
  /** Ports of this worker's lanes: CDP, VNC, viewer bridge, gates. Read for each decision. */
  own_ports: Iterable<number>;
  /** Whether another worker on this machine has the port for its lanes; asked for each decision. */
  isNeighbours?: (port: number) => boolean;
  /** Other places of the fleet that nobody may open; asked for each decision. */
  protected?: ProtectedPlaces;
}

/** Hubs and bridges, as the hub reports them. */
export interface ProtectedPlaces {
  /** The part of the fleet that listens at this address; null when none does. */
  at(address: string, port: number): string | null;
  /** The same for a host as it is spelled. */
  named(host: string, port: number): string | null;
}

export interface Judge {
  /**
   * Why a connection to this address is refused, as a clause of a sentence; null when it is allowed. `host` is the
   * requested name, if there was one.
   */
  refusal(address: string, port: number, host?: string): string | null;
  /** The same for a host and a port before its name is resolved, if that is enough to decide. */
  refusalOfPlace(host: string, port: number): string | null;
  /** The same for a name whose addresses nobody here knows: a proxy resolves it. */
  refusalOfName(host: string, port: number): string | null;
  /** The same for a URL. */
  refusalOfUrl(url: string): string | null;
  /** The same for a URL before it is opened, with every address of its name. */
  checkUrl(url: string): Promise<string | null>;
}

/** Returns every address of a name. @throws when it has none. */
export type Resolve = (host: string) => Promise<string[]>;

const ALWAYS: Partial<Record<AddressClass, string>> = {
  link_local: "is a link-local address",
  metadata: "is a cloud metadata address",
  unspecified: "is not an address of a server",
};
const KIND: Partial<Record<AddressClass, string>> = {
  loopback: "is a loopback address",
  private: "is a private address",
};
const DNS_TIMEOUT_MS = 3_000;

/** Whose lanes have the port on this machine, as a clause of a sentence; null when nobody's have. */
function portOfLanes({ own_ports, isNeighbours }: JudgeSettings, port: number): string | null {
  for (const own of own_ports) if (own === port) return "is a port of this worker's own lanes";
  return isNeighbours?.(port) ? "is a port of another worker's lanes on this machine" : null;
}

export function createJudge(settings: JudgeSettings, resolve: Resolve = systemLookup): Judge {
  const { mode = "open", allow = [], deny = [] } = settings;
  const blocked = new Set(settings.navigation_block);
  /** Why the mode refuses a place that no list names. */
  const byMode = (address: string, kind: AddressClass): string | null => {
    const what = KIND[kind];
    if (what && blocked.has(kind)) return `${address} ${what}, refused by SVC_NAVIGATION_BLOCK`;
    if (what && mode === "public") return `${address} ${what}, refused by egress mode public`;
    return mode === "listed" ? `${address} is not on a list of allowed places` : null;
  };

  const refusal = (address: string, port: number, host = address): string | null => {
    const kind = classifyAddress(address);
    if (kind === null) return null;
    if (ALWAYS[kind]) return `${address} ${ALWAYS[kind]}`;
    if (kind === "loopback" || isOwn(address)) {
      const of_lanes = portOfLanes(settings, port);
      if (of_lanes) return `${address}:${port} ${of_lanes}`;
    }
    const of_fleet = settings.protected?.at(address, port);
    if (of_fleet) return `${address}:${port} ${of_fleet}`;
    const place = { host, address, port };
    if (deny.some((rule) => matchesEgressRule(rule, place)))
      return `${address}:${port} is denied by the worker's or the job's list`;
    if (allow.some((rule) => matchesEgressRule(rule, place))) return null;
    return byMode(address, kind);
  };
  const refusalOfPlace = (host: string, port: number): string | null => {
    if (isMetadataHost(host)) return `${host} is a cloud metadata host`;
    const of_fleet = settings.protected?.named(bareHost(host), port);
    if (of_fleet) return `${host}:${port} ${of_fleet}`;
    if (
      deny.some(
        (rule) => rule.kind === "host" && matchesEgressRule(rule, { host, address: "", port }),
      )
    )
      return `${host}:${port} is denied by the worker's or the job's list`;
    return refusalOfAny(knownAddresses(host), host, port);
  };
  const refusalOfAny = (addresses: string[], host: string, port: number): string | null => {
    for (const address of addresses) {
      const reason = refusal(address, port, host);
      if (reason) return address === host ? reason : `${host}: ${reason}`;
    }
    return null;
  };
  return {
    refusal,
    refusalOfPlace,
    refusalOfName: (host, port) =>
      mode !== "listed" ||
      allow.some((rule) => matchesEgressRule(rule, { host, address: "", port }))
        ? null
        : `${host} is not on a list of allowed places`,
    refusalOfUrl: (url) => {
      const { host, port } = placeOfUrl(url);
      return refusalOfPlace(host, port);
    },
    checkUrl: async (url) => {
      const { host, port } = placeOfUrl(url);
      const known = refusalOfPlace(host, port);
      if (known || knownAddresses(host).length > 0) return known;
      // The browser reports a name that does not resolve here.
      const addresses = await withDeadline("DNS", DNS_TIMEOUT_MS, resolve(host)).catch(() => []);
      return refusalOfAny(addresses, host, port);
    },
  };
}

/** Allows what both allow: a job narrows its worker's rules and never widens them. */
export const bothJudges = (one: Judge, other: Judge): Judge => ({
  refusal: (address, port, host) =>
    one.refusal(address, port, host) ?? other.refusal(address, port, host),
  refusalOfPlace: (host, port) =>
    one.refusalOfPlace(host, port) ?? other.refusalOfPlace(host, port),
  refusalOfName: (host, port) => one.refusalOfName(host, port) ?? other.refusalOfName(host, port),
  refusalOfUrl: (url) => one.refusalOfUrl(url) ?? other.refusalOfUrl(url),
  checkUrl: async (url) => (await one.checkUrl(url)) ?? other.checkUrl(url),
});

async function systemLookup(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}
