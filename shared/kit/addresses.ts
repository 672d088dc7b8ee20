import { ipFamily } from "./ip-family.ts";
import { METADATA_NAMES, METADATA_V4, METADATA_V6 } from "./metadata-hosts.ts";

/** `public` is everything that is in none of the other classes. */
export type AddressClass =
  | "loopback"
  | "private"
  | "link_local"
  | "metadata"
  | "unspecified"
  | "public";

const metadata_v4 = new Set<string>(METADATA_V4);
const metadata_v6 = new Set<string>(METADATA_V6);
const metadata_names = new Set<string>(METADATA_NAMES);

/** Whether this host name belongs to a cloud's metadata service, however it resolves. */
export const isMetadataHost = (host: string): boolean =>
  metadata_names.has(host.toLowerCase().replace(/\.$/, ""));

/**
 * The class of an IP address, with or without brackets or zone. Decimal, octal, hexadecimal and short forms of IPv4 are
 * understood as URL parsing understands them. Null when it is not an address.
 */
export function classifyAddress(raw: string): AddressClass | null {
  const address = canonicalAddress(raw);
  if (address === null) return null;
  return ipFamily(address) === 4 ? classifyV4(address) : classifyV6(address);
}

/**
 * Whether nothing may be sent to this host: a cloud's metadata service or a link-local address (a name may still
 * resolve to one).
 */
export const isRefusedHost = (host: string): boolean =>
  isMetadataHost(host) || ["metadata", "link_local"].includes(classifyAddress(host) ?? "");

/** The form that URL parsing gives it: `0x7f.1` → `127.0.0.1`, `0:0:0:0:0:0:0:1` → `::1`. */
export function canonicalAddress(raw: string): string | null {
  const bare = raw.replace(/^\[|\]$/g, "").replace(/%.*$/, "");
  const host = ipFamily(bare) === 6 ? `[${bare}]` : bare;
  if (!URL.canParse(`http://${host}/`)) return null;
  const parsed = new URL(`http://${host}/`).hostname.replace(/^\[|\]$/g, "");
  return ipFamily(parsed) === 0 ? null : parsed;
}

/**
 * The number an address stands for; an IPv4 address inside an IPv6 one (mapped, NAT64, 6to4) is IPv4. Null when it is
 * not an address.
 */
export function plainAddress(raw: string): { family: 4 | 6; bits: bigint } | null {
  const address = canonicalAddress(raw);
  if (address === null) return null;
  const join = (parts: readonly number[], width: bigint) =>
    parts.reduce((sum, part) => (sum << width) | BigInt(part), 0n);
  if (ipFamily(address) === 4) return { family: 4, bits: join(address.split(".").map(Number), 8n) };
  const groups = expandV6(address);
  const embedded = embeddedV4(groups);
  return embedded === null
    ? { family: 6, bits: join(groups, 16n) }
    : { family: 4, bits: join(embedded.split(".").map(Number), 8n) };
}

function classifyV4(address: string): AddressClass {
  if (metadata_v4.has(address)) return "metadata";
  const [a = 0, b = 0] = address.split(".").map(Number);
  if (a === 0) return "unspecified";
  if (a === 127) return "loopback";
  if (a === 169 && b === 254) return "link_local";
  if (a === 10 || (a === 172 && b >= 16 && b <= 31) || (a === 192 && b === 168)) return "private";
  // Carrier-grade NAT: not reachable from outside either.
  return a === 100 && b >= 64 && b <= 127 ? "private" : "public";
}

function classifyV6(address: string): AddressClass {
  if (metadata_v6.has(address)) return "metadata";
  const groups = expandV6(address);
  const [first = 0] = groups;
  const embedded = embeddedV4(groups);
  if (embedded !== null) return classifyV4(embedded);
  if (groups.every((group) => group === 0)) return "unspecified";
  if (groups.slice(0, 7).every((group) => group === 0) && groups[7] === 1) return "loopback";
  if ((first & 0xffc0) === 0xfe80) return "link_local";
  return (first & 0xfe00) === 0xfc00 || (first & 0xffc0) === 0xfec0 ? "private" : "public";
}

/** Eight numbers from the canonical form. */
function expandV6(address: string): number[] {
  const [head = "", tail] = address.split("::");
  const parse = (part: string) =>
    part === "" ? [] : part.split(":").map((g) => Number.parseInt(g, 16));
  const left = parse(head);
  if (tail === undefined) return left;
  const right = parse(tail);
  return [...left, ...new Array<number>(8 - left.length - right.length).fill(0), ...right];
}

/** The IPv4 address inside `::ffff:a.b.c.d`, `::a.b.c.d`, `64:ff9b::a.b.c.d` or `2002:ab:cd::`. */
function embeddedV4(groups: number[]): string | null {
  const quad = (high = 0, low = 0) => [high >> 8, high & 255, low >> 8, low & 255].join(".");
  const zeros = (count: number) => groups.slice(0, count).every((group) => group === 0);
  if (zeros(5) && groups[5] === 0xffff) return quad(groups[6], groups[7]);
  if (zeros(6) && (groups[6] !== 0 || (groups[7] ?? 0) > 1)) return quad(groups[6], groups[7]);
  if (groups[0] === 0x64 && groups[1] === 0xff9b) return quad(groups[6], groups[7]);
  return groups[0] === 0x2002 ? quad(groups[1], groups[2]) : null;
}
