import { type Ask, type Handshake, isHostText, type Step } from "./handshake.ts";

const MAX_HEAD_BYTES = 64 * 1024;
const HOP_HEADERS = /^(proxy-[^:]*|connection|keep-alive):/i;
const REASONS = { 400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway" };

/** An HTTP proxy: tunnels by CONNECT, and one plain request per connection, passed on in its own form. */
export function httpProxy(): Handshake {
  let held: Buffer = Buffer.alloc(0);
  const bad: Step = { kind: "bad", reply: [answer(400, "not a proxy request")] };
  return {
    hello: null,
    take: (chunk) => {
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      const end = held.indexOf("\r\n\r\n");
      if (end < 0) return held.length > MAX_HEAD_BYTES ? bad : { kind: "more", reply: [] };
      const ask = parseHead(held.toString("latin1", 0, end), held.subarray(end + 4));
      return ask ? { kind: "ask", ask, reply: [] } : bad;
    },
  };
}

function parseHead(head: string, rest: Buffer): Ask | null {
  const [first = "", ...headers] = head.split("\r\n");
  const [, method = "", raw = "", version = ""] =
    /^([A-Z]+) (\S+) (HTTP\/1\.[01])$/.exec(first) ?? [];
  const is_tunnel = method === "CONNECT";
  const spelled = is_tunnel ? `https://${raw}` : raw;
  if (!/^https?:\/\//i.test(spelled) || !URL.canParse(spelled)) return null;
  const url = new URL(spelled);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (!isHostText(host) || (!is_tunnel && url.protocol !== "http:")) return null;
  const kept = headers.filter((line) => line !== "" && !HOP_HEADERS.test(line));
  // One request per connection: a second one could be for another server.
  const lines = [`${method} ${url.pathname}${url.search} ${version}`, ...kept, "Connection: close"];
  const own_head = is_tunnel ? [] : [Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1")];
  return {
    host,
    port: Number(url.port) || (is_tunnel ? 443 : 80),
    granted: is_tunnel ? Buffer.from("HTTP/1.1 200 Connection established\r\n\r\n") : null,
    first: rest.length > 0 ? [...own_head, rest] : own_head,
    failed: ({ failure, message }) => answer(failure === "refused_by_gate" ? 403 : 502, message),
  };
}

function answer(status: keyof typeof REASONS, message: string): Uint8Array {
  const body = `${message}\n`;
  return Buffer.from(
    `HTTP/1.1 ${status} ${REASONS[status]}\r\nContent-Type: text/plain\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
