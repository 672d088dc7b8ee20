import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { LinkGrant } from "#hub/platform/access/links/seal.ts";
import { endingWithLink } from "#hub/platform/access/links/watch-link.ts";
import { access, type RouteRules } from "#hub/platform/http/access.ts";
import { createRoute, describeRoute } from "#hub/platform/http/create-route.ts";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import type { App } from "#hub/platform/http/new-app.ts";
import { fails } from "#hub/platform/http/openapi-parts.ts";
import type { SocketHandlers } from "#hub/platform/http/socket-handlers.ts";
import { requireUpgrade } from "#hub/platform/http/sockets.ts";
import { AppError } from "#shared/kit/errors.ts";
import type { FleetContext } from "../context.ts";
import { requireSession } from "../sessions/registry.ts";
import type { SessionEndContext } from "../sessions/session-contexts.ts";
import { mountCdp } from "./mount-cdp.ts";
import { SignedLinkParams } from "./params.ts";
import { ViewerQuery } from "./viewer.ts";
import { asksToWatch, viewerPage, viewerScriptFile, viewerStream } from "./viewer-answers.ts";

type C = Context<HttpEnv>;

const tags = ["links"];
const request = { params: SignedLinkParams };

const page = createRoute({
  method: "get",
  path: "/links/{link}",
  access: "link",
  opens: "viewer",
  owner: "session",
  tags,
  operationId: "getLinkViewer",
  summary: "Viewer page of the session that a link opens, for any iframe",
  description:
    "Redirects to the same path with a slash at its end, where the page is. A link of mode `view` takes no input, whatever its query says.",
  request: { ...request, query: ViewerQuery },
  responses: {
    200: { description: "The page", content: { "text/html": { schema: z.string() } } },
    308: { description: "To the page: the same path with a slash at its end" },
    ...fails(403, 404, 410, 502),
  },
});
const stream = createRoute({
  method: "get",
  path: "/links/{link}/websockify",
  access: "link",
  takes_over: true,
  opens: "viewer",
  owner: "session",
  tags,
  operationId: "connectLinkScreen",
  summary: "WebSocket: VNC byte stream of the session that a link opens",
  description:
    "Subprotocol `binary`. Closed with 4404 when the session ends, with 4410 when the link expires, with 4403 when " +
    "the link was ended, by the administrator or with its token, with 4502 when the worker cannot be reached.",
  request: { ...request, query: ViewerQuery.pick({ view_only: true }) },
  responses: { 101: { description: "Switching to WebSocket" }, ...fails(403, 404, 410, 426) },
});
const socket = createRoute({
  method: "get",
  path: "/links/{link}/cdp",
  access: "link",
  opens: "cdp",
  takes_over: true,
  origins: "never",
  owner: "session",
  tags,
  operationId: "connectLinkCdp",
  summary: "WebSocket: the browser that a link opens, over the DevTools protocol",
  description:
    "Like /sessions/{sid}/cdp, with its discovery below it; closed with 4410 when the link expires, with 4403 when " +
    "it was ended, by the administrator or with its token.",
  request,
  responses: { 101: { description: "Switching to WebSocket" }, ...fails(403, 404, 410, 426, 502) },
});
const discovery = createRoute({
  method: "get",
  path: "/links/{link}/cdp/json/version",
  access: "link",
  opens: "cdp",
  owner: "session",
  tags,
  operationId: "getLinkCdpVersion",
  summary: "Discovery: where the browser's WebSocket is",
  description: "Like /sessions/{sid}/cdp/json/version; /json/list lists the targets.",
  request,
  responses: {
    200: {
      description: "As Chromium answers it",
      content: { "application/json": { schema: z.record(z.string(), z.string()) } },
    },
    ...fails(403, 404, 410, 502),
  },
});

/** Of the tabs that the discovery opens, closes and activates. */
const steering: RouteRules = {
  access: "link",
  opens: "cdp",
  origins: "never",
  owner: "session",
  changes: ["sessions"],
};

/** What the gate has read of this call's link. */
export function linkOf(c: C): LinkGrant {
  const link = c.get("link");
  if (link === undefined) throw new AppError("internal", "the gate has read no link");
  return link;
}

/**
 * What viewer and CDP links open: the same as `/sessions/{sid}/novnc/` and `/cdp`, for as long as the link is valid.
 */
export function addLinkViews(
  ctx: SessionEndContext & Pick<FleetContext, "awaited" | "config" | "signed_links" | "streams">,
  app: App,
): void {
  for (const route of [page, stream, socket, discovery]) describeRoute(app, route);
  const sessionOf = (c: C) => requireSession(ctx, linkOf(c).id);
  const untilItEnds = (c: C, handlers: SocketHandlers) =>
    endingWithLink(ctx, { text: c.req.param("link") ?? "", grant: linkOf(c) }, handlers);

  app.get("/links/:link/", access(page.rules), (c) => viewerPage(ctx, c, sessionOf(c)));
  app.get("/links/:link", access(page.rules), (c) => {
    sessionOf(c);
    // Relative, so that it works behind a proxy with a prefix.
    return c.redirect(`${c.req.param("link")}/${new URL(c.req.url).search}`, 308);
  });
  app.get("/links/:link/viewer.js", access(page.rules), async (c) => {
    sessionOf(c);
    return viewerScriptFile(c);
  });
  app.get("/links/:link/websockify", access(stream.rules), (c) => {
    requireUpgrade(c);
    const view_only = linkOf(c).mode === "view" || asksToWatch(c);
    const wrap = (handlers: SocketHandlers) => untilItEnds(c, handlers);
    return viewerStream(ctx, c, sessionOf(c), { view_only, wrap });
  });
  mountCdp(ctx, app, "/links/:link/cdp", {
    rules: {
      socket: socket.rules,
      version: discovery.rules,
      list: discovery.rules,
      open: steering,
      activate: steering,
      close: steering,
    },
    sessionOf,
    wrap: untilItEnds,
  });
}
