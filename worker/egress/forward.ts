import { ipFamily } from "#shared/kit/ip-family.ts";
import { type Carry, EgressError } from "./reach.ts";
import type { Upstream } from "./upstream.ts";

const MAX_HEAD_BYTES = 256 * 1024;
const METHOD = /^[A-Z]{1,20}$/;
/** The proxy's own, and those of one connection: RFC 9110, section 7.6.1. */
const DROPPED = /^(proxy-[^:]*|connection|keep-alive|host):/i;

/**
 * Plain HTTP without a tunnel: the request goes to the proxy with its whole address, as from any browser
 * (RFC 9112, section 3.2.2). The address is always that which was judged, whatever the client's Host says.
 * One request for each connection, so that no later one reaches the proxy as it is. `refusal`: why there is no tunnel.
 */
export function forwardHttp(
  { login }: Pick<Upstream, "login">,
  host: string,
  port: number,
  refusal: EgressError,
): Carry {
  let held: Buffer = Buffer.alloc(0);
  /** Bytes of the body that may still come; null: the head has not ended yet. */
  let left: number | null = null;
  const name = ipFamily(host) === 6 ? `[${host}]` : host;
  const place = port === 80 ? name : `${name}:${port}`;
  const body = (chunk: Buffer): Buffer => {
    left = (left ?? 0) - chunk.length;
    if (left >= 0) return chunk;
    throw new EgressError("connection_reset", "one request for each connection to the proxy");
  };
  return {
    take: (chunk) => {
      if (left !== null) return [body(chunk)];
      held = Buffer.concat([held, chunk]);
      const end = held.indexOf("\r\n\r\n");
      if (!looksLikeHttp(held) || (end < 0 && held.length > MAX_HEAD_BYTES)) throw refusal;
      if (end < 0) return [];
      const lines = held.toString("latin1", 0, end).split("\r\n");
      const [, method, target = "", version] =
        /^([A-Z]+) (\/\S*|\*) (HTTP\/1\.[01])$/.exec(lines[0] ?? "") ?? [];
      if (method === undefined) throw refusal;
      const headers = lines.slice(1).filter((line) => !DROPPED.test(line));
      const head = [
        `${method} http://${place}${target === "*" ? "" : target} ${version}`,
        `Host: ${place}`,
        ...headers,
        ...(login ? [`Proxy-Authorization: Basic ${credentials(login)}`] : []),
        "Connection: close",
      ];
      left = bodyLength(headers);
      const rest = held.subarray(end + 4);
      return [Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1"), body(rest)];
    },
  };
}

const credentials = ({ username, password }: NonNullable<Upstream["login"]>): string =>
  Buffer.from(`${username}:${password}`).toString("base64");

/** A method and a space, as far as it has come; a handshake of TLS begins with another byte. */
function looksLikeHttp(held: Buffer): boolean {
  const space = held.indexOf(" ");
  return METHOD.test(held.toString("latin1", 0, space < 0 ? Math.min(held.length, 20) : space));
}

/** A length that is not told ends with the connection. */
function bodyLength(headers: readonly string[]): number {
  if (headers.some((line) => /^(transfer-encoding|upgrade):/i.test(line))) return Infinity;
  const told = headers.find((line) => /^content-length:/i.test(line));
  return told === undefined ? 0 : Number(told.slice(told.indexOf(":") + 1));
}
