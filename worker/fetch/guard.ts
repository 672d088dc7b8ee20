import { lookup } from "node:dns/promises";
import { networkInterfaces } from "node:os";
import { withDeadline } from "#shared/clock.ts";
import {
  type AddressClass,
  canonicalAddress,
  classifyAddress,
  isMetadataHost,
} from "./addresses.ts";

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
  /** The same for a URL before it is opened: its literal address, or all that its name resolves to. */
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
  const checkUrl = async (raw: string): Promise<string | null> => {
    const url = new URL(raw);
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const port = Number(url.port) || (url.protocol === "https:" ? 443 : 80);
    if (isMetadataHost(host)) return `${host} is a cloud metadata host`;
    for (const address of await resolve(host)) {
      const reason = refusal(address, port);
      if (reason) return address === host ? reason : `${host}: ${reason}`;
    }
    return null;
  };
  return { refusal, checkUrl };
}

/** The browser resolves `localhost` names by itself. A name that does not resolve here is the browser's to report. */
async function resolve(host: string): Promise<string[]> {
  const literal = canonicalAddress(host);
  if (literal) return [literal];
  if (/(^|\.)localhost\.?$/i.test(host)) return ["127.0.0.1", "::1"];
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
