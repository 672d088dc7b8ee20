import type { MiddlewareHandler } from "hono";
import type { Log, LogLevel } from "#shared/kit/log.ts";
import type { CallCounts } from "./call-counts.ts";
import type { HttpEnv } from "./env.ts";
import { shownPath } from "./shown-path.ts";

/**
 * Thousands of calls a second are answered, and most refusals are the caller's matter: both are logged for debugging.
 */
const levelOf = (status: number): LogLevel => {
  if (status < 500) return "debug";
  return status === 500 ? "error" : "warn";
};

/** Counts each request and logs one line at its level, and sets `nosniff` on every answer. */
export const accessLog = (log: Log, counts: CallCounts): MiddlewareHandler<HttpEnv> =>
  async function accessLogged(c, next) {
    const started = performance.now();
    await next();
    c.res.headers.set("X-Content-Type-Options", "nosniff");
    counts.answered(c.req.method, c.res.status);
    const level = c.get("told_in_protocol") ? "debug" : levelOf(c.res.status);
    if (!log.writes(level)) return;
    const ms = Math.round((performance.now() - started) * 10) / 10;
    log[level](
      { method: c.req.method, path: shownPath(c.req.url), status: c.res.status, ms },
      "request answered",
    );
  };
