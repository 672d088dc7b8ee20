import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { HubContext } from "../context.ts";
import { access } from "../http/access.ts";
import { createRoute, describeRoute } from "../http/create-route.ts";
import type { HttpEnv } from "../http/env.ts";
import { newApp } from "../http/new-app.ts";
import { fails } from "../http/openapi-parts.ts";
import { requireUpgrade, upgrade } from "../http/sockets.ts";
import { bridgeOf, requireSession } from "../sessions/registry.ts";
import { probeBridge } from "../viewer/dial.ts";
import { VIEWER_PAGE } from "../viewer/page.ts";
import { openScreen, viewerSocket } from "../viewer/relay.ts";
import { viewerScript } from "../viewer/script.ts";
import { SessionParams } from "./params.ts";

const optional = (name: string, description: string) =>
  z
    .string()
    .optional()
    .openapi({ param: { name, in: "query" }, description });

const ViewerQuery = z.object({
  path: optional("path", "sessions/<sid>/novnc/websockify: where the page connects to."),
  autoconnect: optional("autoconnect", "1: connect on load."),
  resize: optional("resize", "scale fits the frame, remote changes the lane's screen, off is 1:1."),
  reconnect: optional("reconnect", "1: connect again when the connection is lost."),
  view_only: optional("view_only", "true: no keyboard, mouse or clipboard; enforced by the hub."),
  password: optional("password", "VNC password; ignored when the worker has none."),
  host: optional("host", "Other host of the WebSocket."),
  port: optional("port", "Other port of the WebSocket."),
});

const page = createRoute({
  method: "get",
  path: "/sessions/{sid}/novnc/",
  access: "capability",
  owner: "session",
  tags: ["sessions"],
  summary: "Viewer page of a session, for any iframe",
  description: "`view_only=true` is kept by the hub, whatever the page does.",
  request: { params: SessionParams, query: ViewerQuery },
  responses: {
    200: { description: "The page", content: { "text/html": { schema: z.string() } } },
    ...fails(404, 502),
  },
});

const stream = createRoute({
  method: "get",
  path: "/sessions/{sid}/novnc/websockify",
  access: "capability",
  owner: "session",
  tags: ["sessions"],
  summary: "WebSocket: VNC byte stream of a session",
  description:
    "Subprotocol `binary`. Closed with 4404 and the reason when there is no such session or it ends, with 4502 when the worker cannot be reached.",
  request: { params: SessionParams, query: ViewerQuery.pick({ view_only: true }) },
  responses: { 101: { description: "Switching to WebSocket" }, ...fails(404, 426) },
});

/** No frame restriction of any kind: anyone may embed the viewer (fleet spec §5.5). The URL is a key, so it leaks to nobody. */
const HEADERS = { "Referrer-Policy": "no-referrer", "Cache-Control": "no-store" };
const ON = /^(1|true|yes|on)$/i;

const agreedProtocol = (c: Context): string | null =>
  (c.req.header("sec-websocket-protocol") ?? "").split(/ *, */).includes("binary")
    ? "binary"
    : null;

/** /sessions/{sid}/novnc/* (fleet spec §4.2). Knowing the session id is the permission (§5.2): no Origin is refused. */
export function viewerRoutes(ctx: HubContext) {
  const app = newApp();
  describeRoute(app, page);
  describeRoute(app, stream);
  const sidOf = (c: Context<HttpEnv>) => requireSession(ctx, c.req.param("sid") ?? "");

  app.get("/sessions/:sid/novnc/", access(page.rules), async (c) => {
    await probeBridge(bridgeOf(sidOf(c)));
    return c.html(VIEWER_PAGE, 200, HEADERS);
  });
  app.get("/sessions/:sid/novnc", access(page.rules), (c) => {
    sidOf(c);
    // Relative, so that it holds behind a proxy with a prefix; the page's own files lie beside it.
    return c.redirect(`novnc/${new URL(c.req.url).search}`, 308);
  });
  app.get("/sessions/:sid/novnc/viewer.js", access(page.rules), async (c) => {
    sidOf(c);
    const { text, etag } = await viewerScript();
    const headers = { ...HEADERS, "Cache-Control": "no-cache", ETag: etag };
    if (c.req.header("if-none-match") === etag) return c.body(null, 304, headers);
    return c.body(text, 200, { ...headers, "Content-Type": "text/javascript; charset=utf-8" });
  });
  app.get("/sessions/:sid/novnc/websockify", access(stream.rules), async (c) => {
    requireUpgrade(c);
    const session = sidOf(c);
    const view_only = ON.test(c.req.query("view_only") ?? "");
    // A browser shows no status of a refused handshake, only the reason of a close.
    const bridge = await openScreen(bridgeOf(session), session).catch((err: Error) => err);
    try {
      return upgrade(c, viewerSocket(ctx, session, bridge, { view_only }), agreedProtocol(c));
    } catch (err) {
      if (!(bridge instanceof Error)) bridge.close();
      throw err;
    }
  });
  return app;
}
