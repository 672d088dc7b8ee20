import { canonicalAddress, plainAddress } from "#shared/kit/addresses.ts";
import { ipFamily } from "#shared/kit/ip-family.ts";

/** One entry of an allow or deny list. A range of ports, both included; `host` is a glob in lower case. */
export type EgressRule = { ports: readonly [number, number] | null } & (
  | { kind: "range"; bits: bigint; prefix: number; family: 4 | 6 }
  | { kind: "host"; pattern: RegExp }
);

/** The target of a connection. `host` is the requested name, or the address itself. */
export interface EgressPlace {
  host: string;
  address: string;
  port: number;
}

const HOST_GLOB = /^[a-z0-9_*?-]+(\.[a-z0-9_*?-]+)*\.?$/i;

/**
 * Reads `TARGET[:PORT[-PORT]]`, where TARGET is an address, a CIDR range or a glob of host names: `10.0.0.0/8`,
 * `*.example.com:443`, `[fd00::/8]:80`, `*:25`. Null when it is neither.
 */
export function parseEgressRule(raw: string): EgressRule | null {
  // An address with colons has a port only behind brackets.
  const bare_v6 = ipFamily(raw.replace(/\/\d+$/, "")) === 6;
  const bracketed = /^\[([^\]]+)\](\/\d{1,3})?(?::(.+))?$/.exec(raw);
  const plain = /^([^:[\]]+)(?::(.+))?$/.exec(raw);
  const [target, spec] = bare_v6
    ? [raw, undefined]
    : bracketed
      ? [`${bracketed[1]}${bracketed[2] ?? ""}`, bracketed[3]]
      : [plain?.[1] ?? "", plain?.[2]];
  const ports = spec === undefined ? null : parsePorts(spec);
  if (spec !== undefined && ports === null) return null;
  const range = parseRange(target);
  if (range) return { ...range, ports };
  if (ipFamily(target.split("/")[0] ?? "") !== 0 || !HOST_GLOB.test(target)) return null;
  return { kind: "host", pattern: globOf(target), ports };
}

function parsePorts(spec: string): [number, number] | null {
  const [, from = "", to = from] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(spec) ?? [];
  const range: [number, number] = [Number(from), Number(to)];
  return from !== "" && range[0] >= 1 && range[0] <= range[1] && range[1] <= 65_535 ? range : null;
}

function parseRange(
  target: string,
): { kind: "range"; bits: bigint; prefix: number; family: 4 | 6 } | null {
  const [address = "", length] = target.split("/");
  if (ipFamily(address) === 0) return null;
  const plain = plainAddress(address);
  if (plain === null) return null;
  const { family, bits } = plain;
  const most = family === 4 ? 32 : 128;
  // A range of mapped addresses is written with the length of the long form.
  const given =
    length === undefined
      ? most
      : Number(length) - (ipFamily(address) === 6 && family === 4 ? 96 : 0);
  return Number.isInteger(given) && given >= 0 && given <= most
    ? { kind: "range", bits, prefix: given, family }
    : null;
}

const globOf = (glob: string): RegExp =>
  new RegExp(
    `^${bareHost(glob)
      .replace(/[.+^${}()|[\]\\]/g, "\\$&")
      .replace(/\*/g, ".*")
      .replace(/\?/g, ".")}$`,
  );

/** A trailing dot and capitals do not change a name. */
export const bareHost = (host: string): string => host.toLowerCase().replace(/\.$/, "");

/** Whether the rule matches this target: its range the address connected to, its glob the requested name. */
export function matchesEgressRule(rule: EgressRule, { host, address, port }: EgressPlace): boolean {
  if (rule.ports && (port < rule.ports[0] || port > rule.ports[1])) return false;
  if (rule.kind === "host") return rule.pattern.test(bareHost(host));
  const plain = plainAddress(address);
  if (plain === null || plain.family !== rule.family) return false;
  const shift = BigInt((rule.family === 4 ? 32 : 128) - rule.prefix);
  return plain.bits >> shift === rule.bits >> shift;
}

/** Where host and port of a URL lead; the host without brackets, in the form in which Chromium asks for it. */
export function placeOfUrl(raw: string): { host: string; port: number } {
  const url = new URL(raw);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return { host, port: Number(url.port) || (/^(https|wss):$/.test(url.protocol) ? 443 : 80) };
}

/**
 * The addresses of `localhost` names, which browsers never look up, and of hosts that are addresses; none for others.
 */
export function knownAddresses(host: string): string[] {
  const literal = canonicalAddress(host);
  if (literal) return [literal];
  return /(^|\.)localhost\.?$/i.test(host) ? ["127.0.0.1", "::1"] : [];
}
