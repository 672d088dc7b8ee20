import { z } from "@hono/zod-openapi";
import { createRoute, describeRoute } from "#hub/platform/http/create-route.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails } from "#hub/platform/http/openapi-parts.ts";
import type { FleetContext } from "../context.ts";
import { requireSession } from "../sessions/registry.ts";
import { mountCdp } from "./mount-cdp.ts";
import { SessionParams, TargetParams } from "./params.ts";

const request = { params: SessionParams };
const Target = z.record(z.string(), z.unknown());
const target = {
  200: {
    description: "As Chromium answers it",
    content: { "application/json": { schema: Target } },
  },
};
const done = (said: string) => ({
  200: { description: said, content: { "text/plain": { schema: z.string() } } },
});

const socket = createRoute({
  method: "get",
  path: "/sessions/{sid}/cdp",
  access: "operate",
  takes_over: true,
  token_in_query: true,
  origins: "never",
  owner: "session",
  tags: ["sessions"],
  operationId: "connectSessionCdp",
  summary: "WebSocket: the session's browser over the DevTools protocol",
  description:
    "For Playwright's connectOverCDP and Puppeteer's connect. Browser.close ends the connection, not the browser; a " +
    "call that would reach beyond the lane gets an error. Closed with 4404 and the reason when there is no such " +
    "session or target, or the session ends. Also at the session's own address, and at /cdp?session=.",
  request,
  responses: { 101: { description: "Switching to WebSocket" }, ...fails(403, 404, 426, 502) },
});

const version = createRoute({
  method: "get",
  path: "/sessions/{sid}/cdp/json/version",
  access: "view",
  token_in_query: true,
  owner: "session",
  tags: ["sessions"],
  operationId: "getSessionCdpVersion",
  summary: "Discovery: where the browser's WebSocket is",
  description:
    "As a browser's own /json/version, with the hub's address. The whole discovery answers at /sessions/{sid}/json/… and " +
    "/json/…?session= too.",
  request,
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
  token_in_query: true,
  owner: "session",
  tags: ["sessions"],
  operationId: "listSessionCdpTargets",
  summary: "Discovery: the targets of the session's browser",
  description:
    "As a browser's own /json/list, with the hub's address; /json/protocol describes the protocol.",
  request,
  responses: {
    200: {
      description: "As Chromium answers it",
      content: { "application/json": { schema: z.array(Target) } },
    },
    ...fails(404, 502),
  },
});

const open = createRoute({
  method: "put",
  path: "/sessions/{sid}/cdp/json/new",
  access: "operate",
  token_in_query: true,
  origins: "never",
  changes: ["sessions"],
  owner: "session",
  tags: ["sessions"],
  operationId: "openSessionCdpTarget",
  summary: "Discovery: open a tab",
  description:
    "As a browser's own /json/new: the whole query is the address, /json/new?https://example.com/; without one the tab " +
    "is blank.",
  request,
  responses: { ...target, ...fails(403, 404, 422, 502) },
});

const activate = createRoute({
  method: "get",
  path: "/sessions/{sid}/cdp/json/activate/{target}",
  access: "operate",
  token_in_query: true,
  origins: "never",
  changes: ["sessions"],
  owner: "session",
  tags: ["sessions"],
  operationId: "activateSessionCdpTarget",
  summary: "Discovery: bring a tab to the front",
  description: "As a browser's own /json/activate.",
  request: { params: TargetParams },
  responses: { ...done("It is in front"), ...fails(403, 404, 422, 502) },
});

const close = createRoute({
  method: "get",
  path: "/sessions/{sid}/cdp/json/close/{target}",
  access: "operate",
  token_in_query: true,
  origins: "never",
  changes: ["sessions"],
  owner: "session",
  tags: ["sessions"],
  operationId: "closeSessionCdpTarget",
  summary: "Discovery: close a tab",
  description: "As a browser's own /json/close.",
  request: { params: TargetParams },
  responses: { ...done("It closes"), ...fails(403, 404, 422, 502) },
});

/**
 * /sessions/{sid}/cdp (rules/cdp#no-page-of-another-origin). As with Chromium's own port, a web page of another origin may
 * not connect.
 */
export function cdpRoutes(ctx: FleetContext) {
  const app = newApp();
  for (const route of [socket, version, list, open, activate, close]) describeRoute(app, route);
  mountCdp(ctx, app, "/sessions/:sid/cdp", {
    rules: {
      socket: socket.rules,
      version: version.rules,
      list: list.rules,
      open: open.rules,
      activate: activate.rules,
      close: close.rules,
    },
    sessionOf: (c) => requireSession(ctx, c.req.param("sid") ?? ""),
  });
  return app;
}
