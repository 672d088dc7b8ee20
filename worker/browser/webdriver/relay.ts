import { createHash } from "node:crypto";
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { systemClock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { markPorts } from "#worker/egress/port-marks.ts";
import { askBrowser } from "../bridge/cdp.ts";
import { type DialedClient, type DialRules, dialSession } from "../bridge/dial-session.ts";

/** Where a session's chromedriver finds what it takes for a Chromium's debugging port. */
export interface Relay {
  /** `127.0.0.1:<port>` */
  readonly address: string;
  /** Cuts every connection. Idempotent. */
  close(): void;
}

const DISCOVERY = /^\/json\/(version|list|protocol)\/?$/;
const SOCKET = /^\/devtools\/(browser|page)(?:\/([A-Za-z0-9-]{1,64}))?\/?$/;
/** RFC 6455 §1.3. */
const ACCEPT_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** chromedriver has one connection to the browser, and may ask for a page's. */
const MAX_SOCKETS = 64;
/** For so long a gate may go by the marks of ports that it has read before. */
const SETTLED_MS = 50;

/**
 * The way of chromedriver to the session's browser: a port of loopback with the part of Chromium's discovery that it
 * reads, and sockets whose commands are judged as those of any CDP client. So neither a WebDriver client nor a page that
 * misleads chromedriver gets more than a CDP client has.
 */
export async function openRelay(rules: DialRules, client: DialedClient, log: Log): Promise<Relay> {
  const open = new Set<Duplex>();
  let address = "";
  let is_closed_to_lanes = false;
  const server = http.createServer((request, response) => {
    if (!is_closed_to_lanes) response.destroy();
    else if (isOfPage(request)) response.writeHead(403).end();
    else discover(rules, client, address, request, response);
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (!is_closed_to_lanes || isOfPage(request) || open.size >= MAX_SOCKETS)
      return void socket.destroy();
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    socket.on("error", () => socket.destroy());
    if (head.length > 0) socket.unshift(head);
    connect(rules, client, request, socket).catch((err) => {
      log.debug({ url: request.url, err: errorMessage(err) }, "chromedriver was not connected");
      socket.end("HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n");
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  address = `127.0.0.1:${port}`;
  const marks = markPorts([port]);
  await systemClock.sleep(SETTLED_MS);
  is_closed_to_lanes = true;
  return {
    address,
    close: () => {
      marks.remove();
      for (const socket of open) socket.destroy();
      server.closeAllConnections();
      server.close();
    },
  };
}

/**
 * A page says its origin with a WebSocket, and the name that led it here. chromedriver does neither, and leaves the port
 * out of the host at sockets (measured with chromedriver 156).
 */
const isOfPage = ({ headers }: IncomingMessage): boolean =>
  headers.origin !== undefined || headers.host?.replace(/:\d+$/, "") !== "127.0.0.1";

type Found = Record<string, unknown>;

/** The browser's own answer, with this relay's address in place of its own. */
function discover(
  { cdp_port_base }: DialRules,
  { session }: DialedClient,
  address: string,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const say = (status: number, body: unknown) => {
    response.writeHead(status, { "Content-Type": "application/json" });
    response.end(JSON.stringify(body));
  };
  const what = DISCOVERY.exec(request.url ?? "")?.[1];
  if (request.method !== "GET" || what === undefined) {
    say(404, {});
    return;
  }
  const here = (found: Found): Found =>
    typeof found.webSocketDebuggerUrl === "string"
      ? {
          ...found,
          webSocketDebuggerUrl: `ws://${address}${new URL(found.webSocketDebuggerUrl).pathname}`,
        }
      : found;
  askBrowser(cdp_port_base + session.lane_idx, `/json/${what}`).then(
    (found) => {
      if (what === "protocol") say(200, found);
      else say(200, Array.isArray(found) ? found.map(here) : here(found as Found));
    },
    (err) => say(502, { detail: errorMessage(err) }),
  );
}

async function connect(
  rules: DialRules,
  client: DialedClient,
  { url, headers }: IncomingMessage,
  socket: Duplex,
): Promise<void> {
  const [, kind, id] = SOCKET.exec(url ?? "") ?? [];
  const key = headers["sec-websocket-key"];
  if (kind === undefined || key === undefined) throw new Error("not a WebSocket of a target");
  const target = await dialSession(rules, client, kind === "page" ? (id ?? "") : null);
  if (socket.destroyed) return target.close();
  const accept = createHash("sha1")
    .update(key + ACCEPT_GUID)
    .digest("base64");
  socket.write(
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
      `Sec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
  target.relay(socket);
}
