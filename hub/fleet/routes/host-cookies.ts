import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import { Host, PutHostCookies, SyncCookies, SyncedCookies } from "#shared/protocol/schema/host.ts";
import type { FleetContext } from "../context.ts";
import { putCookies, syncCookies } from "../registries/hosts.ts";
import { idempotent } from "./idempotent.ts";
import { HostParams, IdempotencyHeader } from "./params.ts";

const tags = ["hosts"];
const COOKIE = { name: "sid", value: "abc123", domain: "example.org" };

/** The cookies that jobs on a host are given (rules/hosts#cookie-sync). */
export function hostCookieRoutes(ctx: FleetContext) {
  const middleware = [jsonBodyLimit, idempotent(ctx)];
  const headers = IdempotencyHeader;
  const writeFails = fails(400, 409, 413, 415, 422, 503);
  const cookies = createRoute({
    method: "put",
    path: "/hosts/{host}/cookies",
    access: "operate",
    changes: ["hosts"],
    tags,
    operationId: "putHostCookies",
    summary: "Replace the cookies of a host; the value *** keeps a stored one",
    description: "They go to every job on that host.",
    middleware,
    request: { params: HostParams, headers, ...json(PutHostCookies, { cookies: [COOKIE] }) },
    responses: { ...ok(Host), ...writeFails },
  });
  const sync = createRoute({
    method: "post",
    path: "/hosts/cookies/sync",
    access: "operate",
    origins: "extensions",
    changes: ["hosts"],
    tags,
    operationId: "syncHostCookies",
    summary: "Add or replace cookies, as the browser extension does",
    description: "Each goes to the host of its domain; the answer counts them by host.",
    middleware,
    request: { headers, ...json(SyncCookies, { scope: "all", cookies: [COOKIE] }) },
    responses: { ...ok(SyncedCookies), ...writeFails },
  });
  return newApp()
    .openapi(cookies, async (c) =>
      c.json(await putCookies(ctx, c.req.valid("param").host, c.req.valid("json").cookies), 200),
    )
    .openapi(sync, async (c) =>
      c.json({ hosts: await syncCookies(ctx, c.req.valid("json")) }, 200),
    );
}
