import type { Ask, Handshake, Step } from "./handshake.ts";
import { isHostText } from "./handshake.ts";
import type { EgressFailure } from "./reach.ts";

const VERSION = 5;
const NO_AUTH = 0;
const CONNECT = 1;
const GRANTED = 0;

/** RFC 1928, section 6. */
const REPLIES: Record<EgressFailure, number> = {
  refused_by_gate: 2,
  network_access_denied: 2,
  name_not_resolved: 4,
  address_unreachable: 4,
  connection_timed_out: 4,
  connection_refused: 5,
  connection_reset: 1,
  connection_failed: 1,
  proxy_connection_failed: 1,
  proxy_auth_requested: 1,
  proxy_certificate_invalid: 1,
  tunnel_connection_failed: 1,
};
const COMMAND_NOT_SUPPORTED = 7;
const ADDRESS_NOT_SUPPORTED = 8;

/** Nobody needs the address that a proxy is bound to. */
const reply = (code: number): Uint8Array => Uint8Array.of(VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0);
const bad = (code: number): Step => ({ kind: "bad", reply: [reply(code)] });
/** Chromium waits for this before it says where it wants to go. */
const NO_AUTH_IS_TAKEN = Uint8Array.of(VERSION, NO_AUTH);
const MORE: Step = { kind: "more", reply: [] };
const NONSENSE: Step = { kind: "bad", reply: [] };

/** SOCKS5 without authentication, CONNECT only (RFC 1928). Names are passed on unchanged: the gate resolves them. */
export function socks5(): Handshake {
  let held: Buffer = Buffer.alloc(0);
  let greeted = false;
  const greet = (): Step => {
    const [version, count = 0] = held;
    if (version !== undefined && version !== VERSION) return NONSENSE;
    if (held.length < 2 || held.length < 2 + count) return MORE;
    if (!held.subarray(2, 2 + count).includes(NO_AUTH)) return NONSENSE;
    held = held.subarray(2 + count);
    greeted = true;
    return MORE;
  };
  return {
    hello: NO_AUTH_IS_TAKEN,
    take: (chunk) => {
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      if (greeted) return readRequest(held);
      const greeting = greet();
      return greeted ? readRequest(held) : greeting;
    },
  };
}

function readRequest(held: Buffer): Step {
  const [version, command, , kind] = held;
  if (version !== undefined && version !== VERSION) return NONSENSE;
  if (held.length < 5) return MORE;
  if (command !== CONNECT) return bad(COMMAND_NOT_SUPPORTED);
  const [from, length] =
    kind === 1 ? [4, 4] : kind === 4 ? [4, 16] : kind === 3 ? [5, held[4] ?? 0] : [0, 0];
  if (length === 0) return bad(ADDRESS_NOT_SUPPORTED);
  const end = from + length;
  if (held.length < end + 2) return MORE;
  const raw = held.subarray(from, end);
  const host = kind === 1 ? raw.join(".") : kind === 4 ? groupsOf(raw) : raw.toString("latin1");
  const port = held.readUInt16BE(end);
  if (!isHostText(host) || port === 0) return bad(ADDRESS_NOT_SUPPORTED);
  const rest = held.subarray(end + 2);
  const ask: Ask = {
    host: host.replace(/^\[|\]$/g, ""),
    port,
    granted: reply(GRANTED),
    first: rest.length > 0 ? [rest] : [],
    failed: ({ failure }) => reply(REPLIES[failure]),
  };
  return { kind: "ask", ask, reply: [] };
}

const groupsOf = (raw: Buffer): string =>
  Array.from({ length: 8 }, (_, i) => raw.readUInt16BE(i * 2).toString(16)).join(":");
