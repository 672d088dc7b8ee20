import { ipFamily } from "#shared/kit/ip-family.ts";
import { EgressError, type EgressFailure, NoTunnelError } from "./reach.ts";
import type { Upstream } from "./upstream.ts";

/** What a gate says to an upstream proxy, and what the answers mean; no socket is known here. */

/** One message, and how its answer is read. @throws EgressError when the proxy refuses. */
export interface Line {
  say: Uint8Array;
  /** Null: more bytes are needed. `next` is the message after it. */
  read(held: Buffer): { taken: number; next: Line | null } | null;
}

const MAX_HEAD_BYTES = 64 * 1024;

const authFailed = ({ shown, login }: Upstream): EgressError =>
  new EgressError(
    "proxy_auth_requested",
    login
      ? `the proxy ${shown} does not accept the given user name and password`
      : `the proxy ${shown} requires a user name and a password`,
  );
const nonsense = ({ shown, scheme }: Upstream): EgressError =>
  new EgressError(
    "tunnel_connection_failed",
    `what answers at ${shown} is not ${scheme === "socks5" ? "a SOCKS5" : "an HTTP"} proxy`,
  );

const hostPort = (host: string, port: number) =>
  `${ipFamily(host) === 6 ? `[${host}]` : host}:${port}`;

/** A tunnel over HTTP (RFC 9110, section 9.3.6). */
export function connectByHttp(upstream: Upstream, host: string, port: number): Line {
  const place = hostPort(host, port);
  const { login, shown } = upstream;
  const credentials =
    login && Buffer.from(`${login.username}:${login.password}`).toString("base64");
  const lines = [
    `CONNECT ${place} HTTP/1.1`,
    `Host: ${place}`,
    ...(credentials === null ? [] : [`Proxy-Authorization: Basic ${credentials}`]),
  ];
  return {
    say: Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"),
    read: (held) => {
      const end = held.indexOf("\r\n\r\n");
      if (end < 0) {
        if (held.length > MAX_HEAD_BYTES || !"HTTP/1.".startsWith(start(held, 7)))
          throw nonsense(upstream);
        return null;
      }
      const head = held.toString("latin1", 0, end);
      const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1] ?? 0);
      if (status === 0) throw nonsense(upstream);
      if (status >= 200 && status < 300) return { taken: end + 4, next: null };
      // Some proxies answer a wrong login with a status that only a server should send.
      if (status === 407 || status === 401) throw authFailed(upstream);
      throw refusedByHttp(shown, place, port, head);
    },
  };
}

const start = (held: Buffer, length: number) =>
  held.toString("latin1", 0, Math.min(length, held.length));

/** RFC 9209, section 2.3, and what Squid says in its own header. */
const TOLD: readonly (readonly [RegExp, EgressFailure])[] = [
  [/dns_error|dns_timeout|ERR_DNS_FAIL/i, "name_not_resolved"],
  [/connection_refused/i, "connection_refused"],
  [/connection_timeout|connection_read_timeout/i, "connection_timed_out"],
  [/destination_ip_unroutable|destination_unavailable/i, "address_unreachable"],
];

function refusedByHttp(shown: string, place: string, port: number, head: string): EgressError {
  const [first = "", ...headers] = head.split("\r\n");
  const answer = printable(first.replace(/^HTTP\/1\.[01] /, ""));
  const [, reason = ""] =
    headers
      .map((line) => /^(?:proxy-status|x-squid-error): *(.*)$/i.exec(line))
      .find((match) => match !== null) ?? [];
  const failure = TOLD.find(([sign]) => sign.test(reason))?.[1] ?? "tunnel_connection_failed";
  const more = reason === "" ? "" : `, ${printable(reason)}`;
  const said = `the proxy ${shown} answered ${answer}${more} for ${place}`;
  const is_its_rule = port !== 443 && /^(403|405|501) /.test(`${answer} `);
  return is_its_rule && failure === "tunnel_connection_failed"
    ? new NoTunnelError(`${said}: it may allow tunnels only to port 443`)
    : new EgressError(failure, said);
}

const printable = (text: string): string => text.replace(/[^\x20-\x7e]/g, "?").slice(0, 200);

const VERSION = 5;
const NO_AUTH = 0;
const BY_PASSWORD = 2;
const NONE_TAKEN = 0xff;
const REPLY_LENGTHS: Record<number, number> = { 1: 4, 4: 16 };

/** RFC 1928, section 6: the meaning of each refusal code. */
const REPLIES: Record<number, readonly [EgressFailure, string]> = {
  1: ["tunnel_connection_failed", "failed"],
  2: ["tunnel_connection_failed", "does not allow it"],
  3: ["address_unreachable", "cannot reach its network"],
  4: ["address_unreachable", "cannot resolve or reach it"],
  5: ["connection_refused", "was refused the connection"],
  6: ["connection_timed_out", "had no answer in time"],
  7: ["tunnel_connection_failed", "does not support tunnels"],
  8: ["tunnel_connection_failed", "does not support this type of address"],
};

/** A tunnel by SOCKS5 (RFC 1928), with a password if there is one (RFC 1929). The proxy resolves names. */
export function connectBySocks(upstream: Upstream, host: string, port: number): Line {
  const { login } = upstream;
  const request = requestLine(upstream, host, port);
  const methods = login ? [NO_AUTH, BY_PASSWORD] : [NO_AUTH];
  return {
    say: Uint8Array.of(VERSION, methods.length, ...methods),
    read: (held) => {
      if (held.length >= 1 && held[0] !== VERSION) throw nonsense(upstream);
      if (held.length < 2) return null;
      if (held[1] === NO_AUTH) return { taken: 2, next: request };
      if (held[1] === BY_PASSWORD && login)
        return { taken: 2, next: passwordLine(upstream, login, request) };
      throw held[1] === NONE_TAKEN || held[1] === BY_PASSWORD
        ? authFailed(upstream)
        : nonsense(upstream);
    },
  };
}

function passwordLine(
  upstream: Upstream,
  { username, password }: { username: string; password: string },
  next: Line,
): Line {
  const [user, secret] = [Buffer.from(username), Buffer.from(password)];
  if (user.length > 255 || secret.length > 255) throw authFailed(upstream);
  return {
    say: Buffer.concat([Buffer.of(1, user.length), user, Buffer.of(secret.length), secret]),
    read: (held) => {
      if (held.length < 2) return null;
      if (held[1] !== 0) throw authFailed(upstream);
      return { taken: 2, next };
    },
  };
}

function requestLine(upstream: Upstream, host: string, port: number): Line {
  return {
    say: Buffer.concat([
      Buffer.of(VERSION, 1, 0),
      addressBytes(host),
      Buffer.of(port >> 8, port & 255),
    ]),
    read: (held) => {
      const [version, code = 0, , kind = 0, name_length = 0] = held;
      if (version !== undefined && version !== VERSION) throw nonsense(upstream);
      if (held.length < 5) return null;
      const [failure, words] = REPLIES[code] ?? ["tunnel_connection_failed", `answered ${code}`];
      if (code !== 0)
        throw new EgressError(
          failure,
          `${hostPort(host, port)}: the proxy ${upstream.shown} ${words}`,
        );
      const length = kind === 3 ? 1 + name_length : REPLY_LENGTHS[kind];
      if (length === undefined) throw nonsense(upstream);
      const taken = 4 + length + 2;
      return held.length < taken ? null : { taken, next: null };
    },
  };
}

function addressBytes(host: string): Uint8Array {
  const family = ipFamily(host);
  if (family === 4) return Uint8Array.of(1, ...host.split(".").map(Number));
  if (family === 6) return Uint8Array.of(4, ...bytesOfV6(host));
  const name = Buffer.from(host, "latin1");
  return Buffer.concat([Buffer.of(3, name.length), name]);
}

/** Takes the canonical form, in which no address is written with dots. */
function bytesOfV6(host: string): number[] {
  const [head = "", tail] = host.split("::");
  const groups = (part: string) =>
    part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16));
  const [left, right] = [groups(head), groups(tail ?? "")];
  const zeros = new Array<number>(Math.max(0, 8 - left.length - right.length)).fill(0);
  return [...left, ...zeros, ...right].flatMap((group) => [group >> 8, group & 255]);
}
