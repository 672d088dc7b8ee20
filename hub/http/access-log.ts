import type { MiddlewareHandler } from "hono";
import { hideCredentials } from "#shared/hide-credentials.ts";
import type { Log, LogLevel } from "#shared/log.ts";
import type { HttpEnv } from "./env.ts";

const MAX_PATH = 300;

/** A session id opens its viewer (fleet spec §5.2), so a log shows only its beginning; a path may be a target URL. */
const redact = (path: string) =>
  hideCredentials(path)
    .replace(/(\/sessions\/[^/]{4})[^/]+/g, "$1…")
    .slice(0, MAX_PATH);

/** As it was sent: decoded, a password in it could look like the end of it. */
const rawPath = (url: string) => url.replace(/^[a-z]+:\/\/[^/?#]*/i, "").replace(/\?.*$/s, "");

/** Thousands a second are answered, and most of what is refused is the caller's matter: both are for debugging. */
const levelOf = (status: number): LogLevel => {
  if (status < 500) return "debug";
  return status === 500 ? "error" : "warn";
};

/** One line per request that shows at its level, and `nosniff` on every answer. */
export const accessLog = (log: Log): MiddlewareHandler<HttpEnv> =>
  async function accessLogged(c, next) {
    const started = performance.now();
    await next();
    c.res.headers.set("X-Content-Type-Options", "nosniff");
    const level = levelOf(c.res.status);
    if (!log.writes(level)) return;
    const ms = Math.round((performance.now() - started) * 10) / 10;
    log[level](
      { method: c.req.method, path: redact(rawPath(c.req.url)), status: c.res.status, ms },
      "request answered",
    );
  };
