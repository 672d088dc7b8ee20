import type { MiddlewareHandler } from "hono";
import type { Log, LogLevel } from "#shared/kit/log.ts";
import type { HttpEnv } from "./env.ts";
import { shownPath } from "./shown-path.ts";

/**
 * Thousands of calls a second are answered, and most refusals are the caller's matter: both are logged for debugging.
 */
const levelOf = (status: number): LogLevel => {
  if (status < 500) return "debug";
  return status === 500 ? "error" : "warn";
};

/** Logs one line per request at its level, and sets `nosniff` on every answer. */
export const accessLog = (log: Log): MiddlewareHandler<HttpEnv> =>
  async function accessLogged(c, next) {
    const started = performance.now();
    await next();
    c.res.headers.set("X-Content-Type-Options", "nosniff");
    const level = levelOf(c.res.status);
    if (!log.writes(level)) return;
    const ms = Math.round((performance.now() - started) * 10) / 10;
    log[level](
      { method: c.req.method, path: shownPath(c.req.url), status: c.res.status, ms },
      "request answered",
    );
  };
