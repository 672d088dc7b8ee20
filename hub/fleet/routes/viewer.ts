import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { access } from "#hub/platform/http/access.ts";
import { createRoute, describeRoute } from "#hub/platform/http/create-route.ts";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails } from "#hub/platform/http/openapi-parts.ts";
import { requireUpgrade } from "#hub/platform/http/sockets.ts";
import type { FleetContext } from "../context.ts";
import { requireSession } from "../sessions/registry.ts";
import { SessionParams } from "./params.ts";
import { asksToWatch, viewerPage, viewerScriptFile, viewerStream } from "./viewer-answers.ts";

const optional = (name: string, description: string) =>
  z
    .string()
    .optional()
    .openapi({ param: { name, in: "query" }, description });

/** `true`, or what else the page takes for it. */
const flag = (name: string, description: string) =>
  z
    .string()
    .optional()
    .openapi({ param: { name, in: "query" }, type: "boolean", description });

export const ViewerQuery = z.object({
  path: optional("path", "sessions/<sid>/novnc/websockify: where the page connects to."),
  autoconnect: flag("autoconnect", "Connect on load."),
  resize: optional("resize", "scale fits the frame, remote changes the lane's screen, off is 1:1."),
  reconnect: flag("reconnect", "Connect again when the connection is lost."),
  view_only: flag("view_only", "No keyboard, mouse or clipboard; enforced by the hub."),
  password: optional("password", "VNC password; ignored when the worker has none."),
  host: optional("host", "Other host of the WebSocket."),
  port: optional("port", "Other port of the WebSocket."),
});

const page = createRoute({
  method: "get",
  path: "/sessions/{sid}/novnc",
  access: "capability",
  owner: "session",
  tags: ["sessions"],
  operationId: "getSessionViewer",
  summary: "Viewer page of a session, for any iframe",
  description:
    "Redirects to the same path with a slash at its end, where the page is. The hub enforces `view_only=true`, whatever the page does.",
  request: { params: SessionParams, query: ViewerQuery },
  responses: {
    200: { description: "The page", content: { "text/html": { schema: z.string() } } },
    308: { description: "To the page: the same path with a slash at its end" },
    ...fails(404, 502),
  },
});

const stream = createRoute({
  method: "get",
  path: "/sessions/{sid}/novnc/websockify",
  access: "capability",
  takes_over: true,
  owner: "session",
  tags: ["sessions"],
  operationId: "connectSessionScreen",
  summary: "WebSocket: VNC byte stream of a session",
  description:
    "Subprotocol `binary`. Closed with 4404 and the reason when there is no such session or it ends, with 4502 when the worker cannot be reached.",
  request: { params: SessionParams, query: ViewerQuery.pick({ view_only: true }) },
  responses: { 101: { description: "Switching to WebSocket" }, ...fails(404, 426) },
});

/**
 * /sessions/{sid}/novnc/* (rules/viewer#viewer-page). Knowing the session id is the permission
 * (rules/access#session-id-as-key): no Origin is refused.
 */
export function viewerRoutes(ctx: FleetContext) {
  const app = newApp();
  describeRoute(app, page);
  describeRoute(app, stream);
  const sidOf = (c: Context<HttpEnv>) => requireSession(ctx, c.req.param("sid") ?? "");

  app.get("/sessions/:sid/novnc/", access(page.rules), (c) => viewerPage(ctx, c, sidOf(c)));
  app.get("/sessions/:sid/novnc", access(page.rules), (c) => {
    sidOf(c);
    // Relative, so that it works behind a proxy with a prefix; the page's own files are next to it.
    return c.redirect(`novnc/${new URL(c.req.url).search}`, 308);
  });
  app.get("/sessions/:sid/novnc/viewer.js", access(page.rules), async (c) => {
    sidOf(c);
    return viewerScriptFile(c);
  });
  app.get("/sessions/:sid/novnc/websockify", access(stream.rules), (c) => {
    requireUpgrade(c);
    return viewerStream(ctx, c, sidOf(c), { view_only: asksToWatch(c) });
  });
  return app;
}
