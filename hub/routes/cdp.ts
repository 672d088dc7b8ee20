import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { AppError, errorMessage, notFound } from "#shared/errors.ts";
import type { HubContext } from "../context.ts";
import { access } from "../http/access.ts";
import { createRoute, describeRoute } from "../http/create-route.ts";
import type { HttpEnv } from "../http/env.ts";
import { isSecure } from "../http/is-secure.ts";
import { newApp } from "../http/new-app.ts";
import { fails } from "../http/openapi-parts.ts";
import { requireUpgrade, upgrade } from "../http/sockets.ts";
import { askBridge } from "../sessions/bridge.ts";
import { bridgeOf, requireSession } from "../sessions/registry.ts";
import { cdpSocket } from "../viewer/cdp-relay.ts";
import { dialBridge } from "../viewer/dial.ts";
import { SessionParams } from "./params.ts";

const socket = createRoute({
  method: "get",
  path: "/sessions/{sid}/cdp",
  access: "operate",
  origins: "never",
  owner: "session",
  tags: ["sessions"],
  summary: "WebSocket: the session's browser over the DevTools protocol",
  description:
    "For Playwright's connectOverCDP and Puppeteer's connect. Browser.close ends the connection, not the browser; what " +
    "would reach beyond the lane is answered with an error. Closed with 4404 and the reason when there is no such " +
    "session or target, or the session ends.",
  request: { params: SessionParams },
  responses: { 101: { description: "Switching to WebSocket" }, ...fails(403, 404, 426, 502) },
});

const version = createRoute({
  method: "get",
  path: "/sessions/{sid}/cdp/json/version",
  access: "view",
  owner: "session",
  tags: ["sessions"],
  summary: "Discovery: where the browser's WebSocket is",
  description: "As a browser's own /json/version, with the hub's address.",
  request: { params: SessionParams },
  responses: {
    200: {
      description: "As Chromium answers it",
      content: { "application/json": { schema: z.record(z.string(), z.string()) } },
    },
    ...fails(404, 502),
  },
});

const list = createRoute({
  method: "get",
  path: "/sessions/{sid}/cdp/json/list",
  access: "view",
  owner: "session",
  tags: ["sessions"],
  summary: "Discovery: the targets of the session's browser",
  description: "As a browser's own /json/list, with the hub's address.",
  request: { params: SessionParams },
  responses: {
    200: {
      description: "As Chromium answers it",
      content: {
        "application/json": { schema: z.array(z.record(z.string(), z.unknown())) },
      },
    },
    ...fails(404, 502),
  },
});

/** The session's `/sessions/{sid}/cdp` as this client reaches it, behind whatever proxy. */
function socketBase(c: Context<HttpEnv>, sid: string): string {
  const host = c.req.header("host") ?? new URL(c.req.url).host;
  return `${isSecure(c) ? "wss" : "ws"}://${host}/sessions/${sid}/cdp`;
}

/** Chromium's own addresses are the worker's business. */
function withoutAddresses(target: Record<string, unknown>, base: string): Record<string, unknown> {
  const { devtoolsFrontendUrl: _front, webSocketDebuggerUrl, ...rest } = target;
  if (typeof webSocketDebuggerUrl !== "string") return rest;
  const { pathname } = new URL(webSocketDebuggerUrl);
  return {
    ...rest,
    webSocketDebuggerUrl: pathname.startsWith("/devtools/page/") ? base + pathname : base,
  };
}

const TARGET = /^(browser|page)$/;

/** /sessions/{sid}/cdp (design/api.md). As with Chromium's own port, a web page of another origin may not connect. */
export function cdpRoutes(ctx: HubContext) {
  const app = newApp();
  for (const route of [socket, version, list]) describeRoute(app, route);

  const connect = async (c: Context<HttpEnv>, path: string) => {
    requireUpgrade(c);
    const session = requireSession(ctx, c.req.param("sid") ?? "");
    const bridge = await dialBridge(
      bridgeOf(session),
      `/sessions/${session.session_id}/${path}`,
      "cdp",
    );
    try {
      return upgrade(c, cdpSocket(ctx, session, bridge));
    } catch (err) {
      bridge.close();
      throw err;
    }
  };
  const discover = async (c: Context<HttpEnv>, what: string): Promise<unknown> => {
    const session = requireSession(ctx, c.req.param("sid") ?? "");
    const answer = await askBridge(ctx, session, `cdp/json/${what}`);
    return answer.json().catch((err) => {
      throw new AppError("relay_failed", `the browser's answer broke off: ${errorMessage(err)}`);
    });
  };

  app.get("/sessions/:sid/cdp", access(socket.rules), (c) => connect(c, "cdp"));
  app.get("/sessions/:sid/cdp/", access(socket.rules), (c) => connect(c, "cdp"));
  app.get("/sessions/:sid/cdp/devtools/:kind/:id", access(socket.rules), (c) => {
    const { kind, id } = c.req.param();
    if (!TARGET.test(kind) || !/^[A-Za-z0-9-]{1,64}$/.test(id)) throw notFound("target");
    return connect(c, `cdp/devtools/${kind}/${id}`);
  });
  // Playwright asks with a slash at the end, Puppeteer without.
  for (const path of ["/sessions/:sid/cdp/json/version", "/sessions/:sid/cdp/json/version/"])
    app.get(path, access(version.rules), async (c) => {
      const found = (await discover(c, "version")) as Record<string, unknown>;
      return c.json(withoutAddresses(found, socketBase(c, c.req.param("sid") ?? "")));
    });
  for (const path of [
    "/sessions/:sid/cdp/json",
    "/sessions/:sid/cdp/json/list",
    "/sessions/:sid/cdp/json/list/",
  ])
    app.get(path, access(list.rules), async (c) => {
      const found = (await discover(c, "list")) as Record<string, unknown>[];
      // The browser's own windows are nobody's pages.
      const pages = found.filter((t) => !/^(chrome|devtools):/.test(String(t.url)));
      return c.json(pages.map((t) => withoutAddresses(t, socketBase(c, c.req.param("sid") ?? ""))));
    });
  app.get("/sessions/:sid/cdp/json/protocol", access(list.rules), async (c) =>
    c.json((await discover(c, "protocol")) as object),
  );
  return app;
}
