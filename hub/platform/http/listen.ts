import http from "node:http";
import type { Server } from "bun";
import { withDeadline } from "#shared/kit/clock.ts";
import { ConfigError } from "#shared/kit/env.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import type { App } from "./new-app.ts";
import type { SocketHandlers } from "./socket-handlers.ts";
import { websocket } from "./sockets.ts";
import type { TlsPair } from "./tls-files.ts";

/**
 * Request line and headers together; Bun's default is 16 KiB, and then it answers 431 without a body. A URL of 16 KiB
 * and an X-Asset-Meta with two long URLs must come through, so the hub can judge them.
 */
const MAX_HEADER_BYTES = 256 * 1024;
/** Longer than any answer takes: 8 s of waiting and 5 s for the worker's answer. */
const IDLE_TIMEOUT_S = 120;
/** How long calls that are being answered may take once the hub stops. */
const DRAIN_MS = 5_000;

export interface ListenOptions {
  host: string;
  port: number;
  /** Null: plain HTTP. */
  tls: TlsPair | null;
  /** Ceiling of uploads; JSON calls have their own limit. */
  max_body_bytes: number;
  /** Ends a connection that is idle for this long; default IDLE_TIMEOUT_S. */
  idle_timeout_s?: number;
}

export interface HttpServer {
  port: number;
  /** New connections get this certificate; open ones, including WebSockets, go on with theirs. */
  setTls(tls: TlsPair): void;
  /** Accepts no new connection; calls on open ones are answered 503. */
  stopListening(): void;
  /** Waits for the calls being answered, then cuts what is left. */
  close(): Promise<void>;
}

/** An answer of the server itself; the access log gives this header to those of the app. */
const ownAnswer = (status: number, detail: string, headers: Record<string, string> = {}) =>
  Response.json(
    { detail },
    { status, headers: { "X-Content-Type-Options": "nosniff", ...headers } },
  );

const stoppingAnswer = () =>
  ownAnswer(503, "hub is stopping", { Connection: "close", "Retry-After": "5" });

/** Reached only by what fails after the app has answered, such as a file that was deleted before it was sent. */
function lateError(log: Log, err: Error): Response {
  if ("code" in err && err.code === "ENOENT") return ownAnswer(404, "asset not found");
  log.error({ err }, "answer failed");
  return ownAnswer(500, "internal error");
}

/** What to do about it, where that is known. */
function whyNot(err: unknown): string {
  switch (err instanceof Error && "code" in err ? err.code : null) {
    case "EADDRINUSE":
      return "another program has this port, perhaps Flotilla itself: end it, or choose another port";
    case "EACCES":
      return "ports below 1024 are for root: choose another port";
    case "EADDRNOTAVAIL":
      return "this machine does not have that address";
    default:
      return errorMessage(err);
  }
}

/** Serves `app`. @throws ConfigError naming SVC_PORT when the address is taken. */
export function listen(
  app: App,
  { host, port, tls, max_body_bytes, idle_timeout_s = IDLE_TIMEOUT_S }: ListenOptions,
  log: Log,
): HttpServer {
  // Typed as read-only, but Bun reads it when a server starts.
  Object.assign(http, { maxHeaderSize: MAX_HEADER_BYTES });
  let active = 0;
  let closing = false;
  let idle = () => {};
  const answer = async (request: Request, server: Server<SocketHandlers>): Promise<Response> => {
    active += 1;
    try {
      return await app.fetch(request, { server });
    } finally {
      active -= 1;
      if (active === 0) idle();
    }
  };
  const serve = (at: number, pair: TlsPair | null) =>
    Bun.serve({
      hostname: host,
      port: at,
      ...(pair === null ? {} : { tls: { cert: pair.cert, key: pair.key } }),
      idleTimeout: idle_timeout_s,
      maxRequestBodySize: max_body_bytes + 1024,
      fetch: (request, server) => {
        // A Host header that is not a host leaves the URL without one.
        if (!request.url.startsWith("http")) return ownAnswer(400, "bad Host header");
        return closing ? stoppingAnswer() : answer(request, server);
      },
      error: (err) => lateError(log, err),
      // Bun's own error page would show the source.
      development: false,
      // Bun's default outside development: a second hub would silently share the port.
      reusePort: false,
      websocket: { ...websocket, idleTimeout: idle_timeout_s },
    });
  let server: ReturnType<typeof serve>;
  try {
    server = serve(port, tls);
  } catch (err) {
    throw new ConfigError(`SVC_PORT: cannot listen on ${host}:${port}: ${whyNot(err)}`);
  }
  const taken = server.port ?? port;
  /** Listeners with an earlier certificate, for as long as one of their connections is open. */
  const retired = new Set<typeof server>();
  return {
    port: taken,
    // Bun's reload() ignores certificates (oven-sh/bun#43815), so another listener takes the port in the same turn:
    // only a client that was about to be accepted at that moment must connect again.
    setTls: (pair) => {
      const old = server;
      retired.add(old);
      void old.stop(false).then(() => retired.delete(old));
      server = serve(taken, pair);
    },
    stopListening: () => {
      closing = true;
      void server.stop(false);
    },
    close: async () => {
      const drained = new Promise<void>((resolve) => {
        idle = resolve;
        if (active === 0) resolve();
      });
      await withDeadline("open calls", DRAIN_MS, drained).catch(() => {});
      await Promise.all([server, ...retired].map((each) => each.stop(true)));
    },
  };
}
