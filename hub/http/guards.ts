import type { Context, MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { getCookie } from "hono/cookie";
import { AppError, badRequest } from "#shared/errors.ts";
import { MAX_JSON_BODY_BYTES } from "#shared/limits.ts";
import { sameSecret } from "#shared/secret.ts";
import type { HttpEnv } from "./env.ts";
import { jsonText } from "./json-text.ts";

type Guard = MiddlewareHandler<HttpEnv>;

/** Of a browser that was let in: pictures, frames and sockets of pages carry no header. */
export const TOKEN_COOKIE = "flotilla_token";

export const bearerOf = (c: Context): string | null =>
  /^Bearer +(\S+) *$/i.exec(c.req.header("authorization") ?? "")?.[1] ?? null;

const LOOPBACK_HOST = /^(localhost|[a-z0-9-]+\.localhost|127(\.[0-9]{1,3}){3}|\[::1\])(:[0-9]+)?$/i;

/** Answers only when the Host header is a loopback name: a rebound DNS name is turned away. */
export const loopbackHostsOnly: Guard = async (c, next) => {
  if (!LOOPBACK_HOST.test(c.req.header("host") ?? ""))
    throw new AppError("forbidden", "this hub answers to loopback names only");
  await next();
};

/** The admin UI's own files, health, viewers, the worker's own calls (§5.4) and what lanes open never carry the token (design/architecture.md §7). */
const TOKEN_FREE =
  /^\/(|ui|ui\/(?!changes$).*|health|worker-source\.tar\.gz|api\/v1\/health|demo\/.*|sessions\/[^/]+\/novnc(\/.*)?|workers\/[^/]+\/(link|(jobs|profiles|sessions)\/.*))$/;

/** Shows a key, so it asks for the workers' secret where there is one; only then may the token be missing. */
const RESOLVE = /^\/engines\/[^/]+\/resolve$/;

/** @throws AppError unauthorized unless it is the token. */
export function checkToken(given: string | null, token: string): void {
  if (given !== null && sameSecret(given, token)) return;
  throw new AppError("unauthorized", "a bearer token is required", {
    headers: { "WWW-Authenticate": "Bearer" },
  });
}

/**
 * Asks for `Authorization: Bearer <token>`, or the cookie of a browser that gave it, on every other call. `config` is read at
 * each of them: both values may change while the hub runs, and while there is no token nothing is asked for.
 */
export const requireToken = (config: {
  readonly api_token: string | null;
  readonly worker_secret: string | null;
}): Guard => {
  return async function requireTokenGuard(c, next) {
    const { api_token: token, worker_secret } = config;
    if (token === null) return next();
    const { path, method } = c.req;
    const asks_for_secret = worker_secret !== null && RESOLVE.test(path);
    // A worker's own call that shares its path with one of people.
    const ships_logs = method === "POST" && path === "/api/v1/service-logs";
    if (!ships_logs && !asks_for_secret && !TOKEN_FREE.test(path))
      checkToken(bearerOf(c) ?? getCookie(c, TOKEN_COOKIE) ?? null, token);
    await next();
  };
};

/** Refuses a body longer than `most` without reading it to its end, one that is no UTF-8, and one that is nested too deep. */
export const jsonLimit = (most: number): Guard => {
  const limit = bodyLimit({
    maxSize: most,
    onError: () => {
      throw new AppError("too_large", `body is larger than ${most} bytes`);
    },
  });
  return async function jsonLimitGuard(c, next) {
    return limit(c, async () => {
      const isJson = /json/i.test(c.req.header("content-type") ?? "");
      if (isJson && (await jsonText(c)) === null) throw badRequest("body is not valid UTF-8");
      await next();
    });
  };
};

/** For what a usual JSON call may have. */
export const jsonBodyLimit: Guard = jsonLimit(MAX_JSON_BODY_BYTES);

/**
 * A page of another site may not open this socket: browsers always send Origin, and no preflight protects WebSockets.
 */
export function refuseForeignOrigin(c: Context, allowed: readonly string[]): void {
  const origin = c.req.header("origin");
  if (origin === undefined || allowed.includes("*") || allowed.includes(origin)) return;
  if (URL.canParse(origin) && new URL(origin).host === c.req.header("host")) return;
  throw new AppError("forbidden", "this origin is not allowed");
}
