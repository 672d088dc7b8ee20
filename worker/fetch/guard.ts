import { lookup } from "node:dns/promises";
import { networkInterfaces } from "node:os";
import {
  type AddressClass,
  canonicalAddress,
  classifyAddress,
  isMetadataHost,
} from "#shared/addresses.ts";
import { withDeadline } from "#shared/clock.ts";

/** What jobs must not reach (architecture §7). */
export interface GuardSettings {
  /** `loopback` and `private` when they are to be refused; the rest always is. */
  navigation_block: readonly string[];
  /** Ports of the lanes on this machine: CDP, VNC, viewer bridge. */
  own_ports: readonly number[];
}

export interface Guard {
  /** Why a connection to this address is refused, as a clause of a sentence; null when it is allowed. */
  refusal(address: string, port: number): string | null;
  /** The same for a URL whose host is an address, a `localhost` name or a metadata host; null for other names. */
  refusalOfUrl(url: string): string | null;
  /** The same for a URL before it is opened, with all that its name resolves to. */
  checkUrl(url: string): Promise<string | null>;
}

const ALWAYS: Partial<Record<AddressClass, string>> = {
  link_local: "is a link-local address",
  metadata: "is a cloud metadata address",
};
const BY_SETTING: Partial<Record<AddressClass, string>> = {
  loopback: "is a loopback address, refused by SVC_NAVIGATION_BLOCK",
  unspecified: "is this machine itself, refused by SVC_NAVIGATION_BLOCK",
  private: "is a private address, refused by SVC_NAVIGATION_BLOCK",
};
const DNS_TIMEOUT_MS = 3_000;

export function createGuard(settings: GuardSettings): Guard {
  const own_ports = new Set(settings.own_ports);
  const blocked = new Set(settings.navigation_block);

  const refusal = (address: string, port: number): string | null => {
    const kind = classifyAddress(address);
    if (kind === null) return null;
    if (ALWAYS[kind]) return `${address} ${ALWAYS[kind]}`;
    if (own_ports.has(port) && (kind === "loopback" || kind === "unspecified" || isOwn(address)))
      return `${address}:${port} is a port of this worker's own lanes`;
    const setting = kind === "unspecified" ? "loopback" : kind;
    return blocked.has(setting) ? `${address} ${BY_SETTING[kind]}` : null;
  };
  const refusalOfAny = (addresses: string[], { host, port }: Place): string | null => {
    for (const address of addresses) {
      const reason = refusal(address, port);
      if (reason) return address === host ? reason : `${host}: ${reason}`;
    }
    return null;
  };
  const refusalOfUrl = (url: string): string | null => {
    const place = placeOf(url);
    if (isMetadataHost(place.host)) return `${place.host} is a cloud metadata host`;
    return refusalOfAny(knownAddresses(place.host), place);
  };
  const checkUrl = async (url: string): Promise<string | null> => {
    const place = placeOf(url);
    return refusalOfUrl(url) ?? refusalOfAny(await resolve(place.host), place);
  };
  return { refusal, refusalOfUrl, checkUrl };
}

interface Place {
  host: string;
  port: number;
}

function placeOf(raw: string): Place {
  const url = new URL(raw);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return { host, port: Number(url.port) || (/^(https|wss):$/.test(url.protocol) ? 443 : 80) };
}

/** What needs no question to anybody: the browser resolves `localhost` names by itself. */
function knownAddresses(host: string): string[] {
  const literal = canonicalAddress(host);
  if (literal) return [literal];
  return /(^|\.)localhost\.?$/i.test(host) ? ["127.0.0.1", "::1"] : [];
}

/** A name that does not resolve here is the browser's to report. */
async function resolve(host: string): Promise<string[]> {
  if (knownAddresses(host).length > 0) return [];
  try {
    const answers = await withDeadline("DNS", DNS_TIMEOUT_MS, lookup(host, { all: true }));
    return answers.map(({ address }) => address);
  } catch {
    return [];
  }
}

function isOwn(address: string): boolean {
  const canonical = canonicalAddress(address);
  return Object.values(networkInterfaces())
    .flat()
    .some((own) => own !== undefined && canonicalAddress(own.address) === canonical);
}
