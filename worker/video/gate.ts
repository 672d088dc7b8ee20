import { lookup } from "node:dns/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { withDeadline } from "#shared/clock.ts";
import { errorMessage } from "#shared/errors.ts";
import type { AddressGuard } from "./types.ts";

/**
 * The way out of the downloaders: an HTTP proxy on loopback. Each connection they make, for a manifest, a redirect or a
 * segment, is checked by the navigation guard on the address it is really made to, and its bytes are counted.
 */
export interface Gate {
  readonly url: string;
  /** Bytes that came in since the last `reset`. */
  readonly bytes: number;
  /** What was refused, with the reason. */
  readonly refused: readonly string[];
  reset(): void;
  close(): Promise<void>;
}

export interface GateOptions {
  guard: AddressGuard;
  /** Called once, when more than `max_bytes` came in since the last reset. */
  max_bytes: number;
  onTooMuch(): void;
}

const MAX_HEAD_BYTES = 64 * 1024;
const DNS_MS = 5_000;
const CONNECT_MS = 15_000;
/** Silence of both sides after which a connection is dropped. */
const IDLE_MS = 60_000;
const MAX_REFUSALS = 20;
const HOP_HEADERS = /^(proxy-[^:]*|connection|keep-alive):/i;

export async function openGate({ guard, max_bytes, onTooMuch }: GateOptions): Promise<Gate> {
  const sockets = new Set<Socket>();
  const refused: string[] = [];
  let bytes = 0;

  const own = (socket: Socket) => {
    sockets.add(socket);
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    socket.on("error", () => socket.destroy());
    socket.once("close", () => sockets.delete(socket));
  };
  const reach = async (host: string, port: number): Promise<Socket> => {
    const named = guard.refusalOfUrl(`http://${host.includes(":") ? `[${host}]` : host}:${port}/`);
    if (named) throw new RefusedError(`${host}:${port}: ${named}`);
    const addresses = await resolve(host);
    const reason = addresses
      .map((address) => guard.refusal(address, port))
      .find((one) => one !== null);
    if (reason) throw new RefusedError(`${host}:${port}: ${reason}`);
    let last: unknown = new Error(`${host} does not resolve`);
    for (const address of addresses) {
      try {
        return await open(address, port);
      } catch (err) {
        last = err;
      }
    }
    throw last;
  };
  const serve = async (client: Socket) => {
    own(client);
    const head = await readHead(client);
    const target = head && parseTarget(head.text);
    if (!head || !target) return void client.end(answer(400, "not a proxy request"));
    let upstream: Socket;
    try {
      upstream = await reach(target.host, target.port);
    } catch (err) {
      const message = errorMessage(err);
      if (err instanceof RefusedError && refused.length < MAX_REFUSALS) refused.push(message);
      return void client.end(answer(err instanceof RefusedError ? 403 : 502, message));
    }
    own(upstream);
    if (client.destroyed) return void upstream.destroy();
    client.once("close", () => upstream.destroy());
    upstream.once("close", () => client.end());
    upstream.on("data", (chunk: Buffer) => {
      const before = bytes;
      bytes += chunk.length;
      if (bytes > max_bytes && before <= max_bytes) onTooMuch();
    });
    if (target.head === null) client.write("HTTP/1.1 200 Connection established\r\n\r\n");
    else upstream.write(target.head, "latin1");
    if (head.rest.length > 0) upstream.write(head.rest);
    upstream.pipe(client);
    client.pipe(upstream);
  };
  const server = createServer((client) => void serve(client).catch(() => client.destroy()));
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    refused,
    get bytes() {
      return bytes;
    },
    reset: () => {
      bytes = 0;
    },
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

class RefusedError extends Error {}

/** `head`: what the server is to be sent; null for a tunnel. */
interface Target {
  host: string;
  port: number;
  head: string | null;
}

function parseTarget(head: string): Target | null {
  const [first = "", ...headers] = head.split("\r\n");
  const [, method = "", raw = "", version = ""] =
    /^([A-Z]+) (\S+) (HTTP\/1\.[01])$/.exec(first) ?? [];
  const spelled = method === "CONNECT" ? `https://${raw}` : raw;
  if (!/^https?:\/\//i.test(spelled) || !URL.canParse(spelled)) return null;
  const url = new URL(spelled);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (method === "CONNECT") return { host, port: Number(url.port) || 443, head: null };
  if (url.protocol !== "http:") return null;
  const kept = headers.filter((line) => line !== "" && !HOP_HEADERS.test(line));
  // One request per connection: a second one could be for another server.
  const lines = [`${method} ${url.pathname}${url.search} ${version}`, ...kept, "Connection: close"];
  return { host, port: Number(url.port) || 80, head: `${lines.join("\r\n")}\r\n\r\n` };
}

/** The head of a request and what came behind it; null when there is none in time, or it is too long. */
function readHead(client: Socket): Promise<{ text: string; rest: Buffer } | null> {
  return new Promise((done) => {
    let held = Buffer.alloc(0);
    const finish = (result: { text: string; rest: Buffer } | null) => {
      client.off("data", onData);
      client.off("close", onClose);
      client.pause();
      done(result);
    };
    const onClose = () => finish(null);
    const onData = (chunk: Buffer) => {
      held = Buffer.concat([held, chunk]);
      const end = held.indexOf("\r\n\r\n");
      if (end >= 0) finish({ text: held.toString("latin1", 0, end), rest: held.subarray(end + 4) });
      else if (held.length > MAX_HEAD_BYTES) finish(null);
    };
    client.on("data", onData);
    client.once("close", onClose);
  });
}

const answer = (status: number, message: string): string => {
  const body = `${message}\n`;
  const reason = { 400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway" }[status];
  return (
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: text/plain\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
  );
};

/** As the browser does: `localhost` names are this machine, whatever a resolver says. */
async function resolve(host: string): Promise<string[]> {
  if (/(^|\.)localhost\.?$/i.test(host)) return ["127.0.0.1", "::1"];
  const answers = await withDeadline("DNS", DNS_MS, lookup(host, { all: true }));
  return answers.map(({ address }) => address);
}

function open(address: string, port: number): Promise<Socket> {
  return new Promise((done, fail) => {
    const socket = connect(port, address);
    const timer = setTimeout(
      () => give(new Error(`${address}:${port} does not answer`)),
      CONNECT_MS,
    );
    const give = (err: Error | null) => {
      clearTimeout(timer);
      socket.removeAllListeners();
      if (!err) return done(socket);
      socket.on("error", () => {});
      socket.destroy();
      fail(err);
    };
    socket.once("connect", () => give(null));
    socket.once("error", (err) => give(err));
  });
}

const listen = (server: Server): Promise<number> =>
  new Promise((done, fail) => {
    server.once("error", fail);
    server.listen(0, "127.0.0.1", () => {
      const at = server.address();
      if (at && typeof at === "object") done(at.port);
      else fail(new Error("the gate has no port"));
    });
  });
