import type { Context, MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { AppError, badRequest } from "#shared/kit/errors.ts";
import { MAX_JSON_BODY_BYTES } from "#shared/protocol/limits.ts";
import type { HttpEnv } from "./env.ts";
import { jsonText } from "./json-text.ts";

type Guard = MiddlewareHandler<HttpEnv>;

/** The session of a browser that was let in: pictures, frames and sockets of pages carry no header. */
export const SESSION_COOKIE = "flotilla_session";
/** Of a browser that was let in before; it opens nothing (`whoseCount`). */
export const KNOWN_COOKIE = "flotilla_known";

export const bearerOf = (c: Context): string | null =>
  /^Bearer +(\S+) *$/i.exec(c.req.header("authorization") ?? "")?.[1] ?? null;

/**
 * The token of a client that was given `http://user:TOKEN@hub` or `http://TOKEN@hub`; null for the administrator, whose
 * password is not a token.
 */
export function basicTokenOf(c: Context): string | null {
  const basic = /^Basic +([A-Za-z0-9+/=_-]+) *$/i.exec(c.req.header("authorization") ?? "")?.[1];
  if (basic === undefined) return null;
  const [, user = "", password = ""] =
    /^([^:]*):?(.*)$/s.exec(Buffer.from(basic, "base64").toString("utf8")) ?? [];
  return user === "admin" ? null : password || user || null;
}

/** The answer to an unknown caller. */
export const tokenRequired = (): AppError =>
  new AppError("unauthorized", "a bearer token is required", {
    headers: { "WWW-Authenticate": "Bearer" },
  });

/**
 * Refuses a body longer than `most` without reading it to its end, a body that is not UTF-8, and one that is nested too
 * deeply.
 */
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

/** The same, with the limit of a usual JSON call. */
export const jsonBodyLimit: Guard = jsonLimit(MAX_JSON_BODY_BYTES);
