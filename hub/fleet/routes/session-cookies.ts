import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import { CookieList, PutCookies } from "#shared/protocol/schema/session.ts";
import type { FleetContext } from "../context.ts";
import { clearCookies, putCookies, readCookies } from "../sessions/read-sessions.ts";
import { idempotent } from "./idempotent.ts";
import { IdempotencyHeader, SessionParams } from "./params.ts";
import { RELAYED, sessionOf } from "./session-call.ts";
import { thisSession } from "./sessions.ts";

const tags = ["sessions"];

/** The cookies of a session's browser (rules/sessions#cookies-of-a-session). */
export function sessionCookieRoutes(ctx: FleetContext) {
  const middleware = [jsonBodyLimit, idempotent(ctx), thisSession(ctx)];
  const getCookies = createRoute({
    method: "get",
    path: "/sessions/{sid}/cookies",
    owner: "session",
    tags,
    operationId: "listSessionCookies",
    summary: "List the cookies, with their values",
    description: "In Playwright's shape. Anyone who knows the session's id may read them.",
    access: "operate",
    request: { params: SessionParams },
    responses: { ...ok(CookieList), ...fails(...RELAYED) },
  });
  const setCookies = createRoute({
    method: "put",
    path: "/sessions/{sid}/cookies",
    owner: "session",
    tags,
    operationId: "putSessionCookies",
    summary: "Add or replace cookies; the others stay",
    description: "Each needs `url`, or `domain` and `path`.",
    access: "operate",
    changes: ["sessions"],
    middleware,
    request: {
      params: SessionParams,
      ...json(PutCookies, {
        cookies: [{ name: "lang", value: "en", url: "https://example.com/" }],
      }),
      headers: IdempotencyHeader,
    },
    responses: { ...ok(CookieList), ...fails(400, 409, 413, 415, ...RELAYED) },
  });
  const deleteCookies = createRoute({
    method: "delete",
    path: "/sessions/{sid}/cookies",
    owner: "session",
    tags,
    operationId: "clearSessionCookies",
    summary: "Delete every cookie",
    description: "Deletes them from the session's browser; cookies stored for hosts stay.",
    access: "operate",
    changes: ["sessions"],
    middleware,
    request: { params: SessionParams, headers: IdempotencyHeader },
    responses: { 204: { description: "Deleted" }, ...fails(409, 413, ...RELAYED) },
  });
  return newApp()
    .openapi(getCookies, async (c) => c.json(await readCookies(ctx, sessionOf(ctx, c)), 200))
    .openapi(setCookies, async (c) =>
      c.json(await putCookies(ctx, sessionOf(ctx, c), c.req.valid("json")), 200),
    )
    .openapi(deleteCookies, async (c) => {
      await clearCookies(ctx, sessionOf(ctx, c));
      return c.body(null, 204);
    });
}
