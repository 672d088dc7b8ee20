import http, { type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock } from "#shared/kit/clock.ts";
import { ConfigError } from "#shared/kit/env.ts";
import { AppError, errorMessage } from "#shared/kit/errors.ts";
import { HOST_ID_HEADER, hostId } from "#shared/kit/host-id.ts";
import type { Log } from "#shared/kit/log.ts";
import { sameSecret } from "#shared/kit/secret.ts";
import { CDP_CLIENT_HEADER, readCdpClient } from "#shared/protocol/cdp-client.ts";
import { TAKES_VNC_SECRET, VNC_SECRET_HEADER } from "#shared/protocol/rfb-handshake.ts";
import type { Size } from "../lanes/x11.ts";
import type { LiveSession, Sessions } from "../session/live-session.ts";
import type { WebDrivers } from "../webdriver/web-drivers.ts";
import { askBrowser } from "./cdp.ts";
import { type DialedClient, dialSession } from "./dial-session.ts";
import { serveRfb } from "./rfb-server.ts";
import { serveFiles } from "./serve-files.ts";
import { createSharedCasts, type SharedCasts } from "./shared-casts.ts";
import { createVncDialer, showVnc } from "./vnc.ts";

export interface BridgeDeps {
  /** Where the bridges listen. */
  host: string;
  /** Lane i listens on `base_port + i` (rules/lanes#ports-of-a-lane). */
  base_port: number;
  vnc_port_base: number;
  cdp_port_base: number;
  lanes: number;
  sessions: Pick<Sessions, "get">;
  /** Whether the lanes have no display. */
  headless: boolean;
  clock: Clock;
  /** Resizes the screen of a lane; null restores its own size. */
  resizeScreen(lane_idx: number, size: Size | null): Promise<void>;
  vncSecret(lane_idx: number): string;
  /** Why a page may not open this URL, as a clause of a sentence; null when it may. */
  refusalOfUrl(url: string): string | null;
  /** Absent where no chromedriver is started. */
  webdriver?: Pick<WebDrivers, "serve">;
  /** The secret that the hub must show; null while there is no link, when nothing is answered. */
  token(): string | null;
  log: Log;
}

export interface Bridges {
  /** Cuts every viewer and client. Idempotent. */
  close(): Promise<void>;
}

const STATUS: Record<number, string> = {
  401: "Unauthorized",
  404: "Not Found",
  426: "Upgrade Required",
  502: "Bad Gateway",
};

/** Paths that clients read before they connect; none of them opens or closes a target. */
const DISCOVERY = /^cdp\/json\/(version|list|protocol)$/;
/** A target of the browser; `cdp` alone is the browser itself. */
const TARGET = /^cdp(?:\/devtools\/(browser|page)\/([A-Za-z0-9-]{1,64}))?$/;

/** The lane's screen: PUT with a size, DELETE to restore its own. */
const SCREEN = /^screen(?:\/([1-9][0-9]{1,3})x([1-9][0-9]{1,3}))?$/;

/** Why a call is refused. */
class Refusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** One lane's. */
interface Bridge {
  deps: BridgeDeps;
  lane_idx: number;
  casts: SharedCasts;
  dialVnc: ReturnType<typeof createVncDialer>;
}

interface Call {
  session: LiveSession;
  rest: string;
}

/** Where to listen for this hub: a hub on loopback is on this machine, so nobody else needs access. */
export const bridgeHost = (hub_host: string): string =>
  /^(127\.[0-9.]+|::1|(.+\.)?localhost)$/i.test(hub_host) ? "127.0.0.1" : "0.0.0.0";

/**
 * The hub's connection to the lanes for traffic that is too heavy for the link: VNC and CDP streams, one HTTP server
 * per lane. Only the hub of the standing link gets an answer.
 * @throws ConfigError when a port is taken.
 */
export async function startBridges(deps: BridgeDeps): Promise<Bridges> {
  const bridges: { close(): Promise<void> }[] = [];
  try {
    for (let lane_idx = 0; lane_idx < deps.lanes; lane_idx += 1)
      bridges.push(await startBridge(deps, lane_idx));
  } catch (err) {
    await Promise.all(bridges.map((b) => b.close()));
    throw err;
  }
  return { close: async () => void (await Promise.all(bridges.map((b) => b.close()))) };
}

async function startBridge(deps: BridgeDeps, lane_idx: number): Promise<Bridges> {
  const open = new Set<Duplex>();
  const { clock, log, cdp_port_base } = deps;
  const casts = createSharedCasts({ port: cdp_port_base + lane_idx, clock, log });
  const dialVnc = createVncDialer(deps.vnc_port_base + lane_idx, () => deps.vncSecret(lane_idx));
  const bridge: Bridge = { deps, lane_idx, casts, dialVnc };
  const server = http.createServer((request, response) =>
    answer(deps, lane_idx, request, response),
  );
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    socket.on("error", () => socket.destroy());
    void openStream(bridge, request, socket, head);
  });
  await listen(server, deps.host, deps.base_port + lane_idx);
  return {
    close: async () => {
      for (const socket of open) socket.destroy();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (err) =>
      reject(
        new ConfigError(`NOVNC_BASE_PORT: cannot listen on ${host}:${port}: ${errorMessage(err)}`),
      ),
    );
    server.listen(port, host, () => resolve());
  });
}

/** The session a call names. @throws Refusal 401 before it reveals anything about sessions; 404. */
function admit(deps: BridgeDeps, lane_idx: number, request: IncomingMessage): Call {
  const token = deps.token();
  const given = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? "")?.[1];
  if (token === null || given === undefined || !sameSecret(given, token))
    throw new Refusal(401, "the token of the worker's link is required");
  const match = /^\/sessions\/([^/?]+)\/([^?]*)/.exec(request.url ?? "");
  const session = match?.[1] === undefined ? undefined : deps.sessions.get(match[1]);
  if (!session || session.lane_idx !== lane_idx || session.signal.aborted)
    throw new Refusal(404, "session not found");
  return { session, rest: match?.[2] ?? "" };
}

/** The size that a call requests for the screen; null for its own. @throws Refusal 404 */
function screenSize(method: string | undefined, [, width, height]: RegExpExecArray): Size | null {
  if (method === "PUT" && width !== undefined)
    return { width: Number(width), height: Number(height) };
  if (method === "DELETE" && width === undefined) return null;
  throw new Refusal(404, "no such path");
}

function refusalOf(err: unknown): Refusal {
  if (err instanceof Refusal) return err;
  return new Refusal(err instanceof AppError ? err.status : 502, errorMessage(err));
}

function answer(
  deps: BridgeDeps,
  lane_idx: number,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const say = (status: number, body: unknown) => {
    response.writeHead(status, { "Content-Type": "application/json" });
    response.end(JSON.stringify(body));
  };
  // Shows that the bridge is reachable, and nothing else.
  if (request.url === "/health") {
    say(200, { status: "ok" });
    return;
  }
  const work = async () => {
    const { session, rest } = admit(deps, lane_idx, request);
    if (request.method === "GET" && DISCOVERY.test(rest))
      return say(200, await askBrowser(deps.cdp_port_base + lane_idx, rest.replace(/^cdp/, "")));
    const screen = SCREEN.exec(rest);
    if (screen) {
      await deps.resizeScreen(lane_idx, screenSize(request.method, screen));
      return response.writeHead(204).end();
    }
    if (await serveFiles(session.files, rest, request, response)) return;
    if (await deps.webdriver?.serve(session, rest, request, response)) return;
    throw new Refusal(404, "no such path");
  };
  work().catch((err) => {
    const { status, message } = refusalOf(err);
    if (response.headersSent) response.destroy();
    else say(status, { detail: message });
  });
}

async function openStream(
  bridge: Bridge,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const { deps, lane_idx } = bridge;
  try {
    const call = admit(deps, lane_idx, request);
    if (head.length > 0) socket.unshift(head);
    const end = () => socket.destroy();
    call.session.signal.addEventListener("abort", end, { once: true });
    socket.once("close", () => call.session.signal.removeEventListener("abort", end));
    const target = TARGET.exec(call.rest);
    if (call.rest === "websockify") {
      const direct = vncPortFor(bridge, call.session, request);
      if (direct === null) await showScreen(bridge, call.session, socket);
      else socket.end(seeOther(direct, deps.vncSecret(lane_idx)));
    } else if (target) {
      const by = readCdpClient(request.headers[CDP_CLIENT_HEADER]);
      await openTarget(deps, { session: call.session, by }, socket, target);
    } else throw new Refusal(404, "no such path");
  } catch (err) {
    const { status, message } = refusalOf(err);
    deps.log.debug({ lane_idx, url: request.url, status, err: message }, "bridge refused a stream");
    if (!socket.destroyed)
      socket.end(`HTTP/1.1 ${status} ${STATUS[status]}\r\nConnection: close\r\n\r\n`);
  }
}

const seeOther = (port: number, secret: string): string =>
  `HTTP/1.1 303 See Other\r\nConnection: close\r\n${VNC_SECRET_HEADER}: ${secret}\r\n` +
  `Location: rfb://127.0.0.1:${port}\r\n\r\n`;
const LOOPBACK = /^(127\.|::1$|::ffff:127\.)/;

/**
 * The VNC port of the lane, for a hub that can reach it directly: it came over loopback and says that it is on this
 * host. Neither alone is enough: a forwarded port looks like loopback, and containers may share a host's identity. A
 * hub that does not announce support for a secret has a version from before there was one.
 */
function vncPortFor(
  { deps, lane_idx }: Bridge,
  session: LiveSession,
  { headers, socket }: IncomingMessage,
): number | null {
  const named = headers[HOST_ID_HEADER];
  if (named === undefined || named !== hostId()) return null;
  if (headers[VNC_SECRET_HEADER] !== TAKES_VNC_SECRET) return null;
  if (!LOOPBACK.test(socket.remoteAddress ?? "")) return null;
  return isHeadless(deps, session) ? null : deps.vnc_port_base + lane_idx;
}

const isHeadless = (deps: BridgeDeps, session: LiveSession): boolean =>
  session.browser()?.headless ?? deps.headless;

const SWITCHING = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ";

/** The lane's screen as an RFB byte stream: from its VNC server, or from its page when no VNC server answers. */
async function showScreen(
  { deps, casts, dialVnc, lane_idx }: Bridge,
  session: LiveSession,
  socket: Duplex,
): Promise<void> {
  const vnc = isHeadless(deps, session)
    ? null
    : await dialVnc().catch((err) => {
        deps.log.warn(
          { lane_idx, err: errorMessage(err) },
          "VNC does not answer, showing the page",
        );
        return null;
      });
  if (vnc) {
    if (socket.destroyed) return void vnc.destroy();
    socket.write(`${SWITCHING}rfb\r\n\r\n`);
    return showVnc(socket, vnc);
  }
  const cast = await casts.take(session);
  socket.once("close", cast.release);
  if (socket.destroyed) return cast.release();
  socket.write(`${SWITCHING}rfb\r\n\r\n`);
  serveRfb(socket, cast.screencast, deps);
}

/** One target of the lane's browser as WebSocket frames. */
async function openTarget(
  deps: BridgeDeps,
  client: DialedClient,
  socket: Duplex,
  [, kind, id]: RegExpExecArray,
): Promise<void> {
  const target = await dialSession(deps, client, kind === "page" ? (id ?? "") : null);
  if (socket.destroyed) return target.close();
  socket.write(`${SWITCHING}cdp\r\n\r\n`);
  target.relay(socket);
}
