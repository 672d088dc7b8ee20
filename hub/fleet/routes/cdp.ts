import { z } from "@hono/zod-openapi";
import { createRoute, describeRoute } from "#hub/platform/http/create-route.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails } from "#hub/platform/http/openapi-parts.ts";
import type { FleetContext } from "../context.ts";
import { requireSession } from "../sessions/registry.ts";
import { mountCdp } from "./mount-cdp.ts";
import { SessionParams } from "./params.ts";

const socket = createRoute({
  method: "get",
  path: "/sessions/{sid}/cdp",
  access: "operate",
  takes_over: true,
  origins: "never",
  owner: "session",
  tags: ["sessions"],
  operationId: "connectSessionCdp",
  summary: "WebSocket: the session's browser over the DevTools protocol",
  description:
    "For Playwright's connectOverCDP and Puppeteer's connect. Browser.close ends the connection, not the browser; a " +
    "call that would reach beyond the lane gets an error. Closed with 4404 and the reason when there is no such " +
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
  operationId: "getSessionCdpVersion",
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
  operationId: "listSessionCdpTargets",
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

/**
 * /sessions/{sid}/cdp (rules/cdp#no-page-of-another-origin). As with Chromium's own port, a web page of another origin may
 * not connect.
 */
export function cdpRoutes(
  ctx: Pick<FleetContext, "clock" | "streams" | "sessions" | "awaited" | "config" | "hub_id">,
) {
  const app = newApp();
  for (const route of [socket, version, list]) describeRoute(app, route);
  mountCdp(ctx, app, "/sessions/:sid/cdp", {
    rules: { socket: socket.rules, version: version.rules, list: list.rules },
    sessionOf: (c) => requireSession(ctx, c.req.param("sid") ?? ""),
  });
  return app;
}
