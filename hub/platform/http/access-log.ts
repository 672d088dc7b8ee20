import type { MiddlewareHandler } from "hono";
import type { Log, LogLevel } from "#shared/kit/log.ts";
import type { CallCounts } from "./call-counts.ts";
import { NOBODY } from "./caller.ts";
import type { HttpEnv } from "./env.ts";
import { addressOf } from "./require-admin.ts";
import { shownPath } from "./shown-path.ts";

function levelOf(status: number, usual: LogLevel): LogLevel {
  if (status < 500) return usual;
  return status === 500 ? "error" : "warn";
}

/**
 * Counts each request and logs one line at its level, and sets `nosniff` on every answer. Thousands of calls a second are
 * answered, and most refusals are the caller's matter: unless `all` are asked for, those are logged for debugging only.
 */
export const accessLog = (
  log: Log,
  counts: CallCounts,
  all: () => boolean,
): MiddlewareHandler<HttpEnv> =>
  async function accessLogged(c, next) {
    const started = performance.now();
    const every = all();
    const usual = every ? "info" : "debug";
    // Bun no longer gives the address of a socket once it is open.
    const address = every ? addressOf(c) : undefined;
    await next();
    c.res.headers.set("X-Content-Type-Options", "nosniff");
    counts.answered(c.req.method, c.res.status);
    const level = c.get("told_in_protocol") ? usual : levelOf(c.res.status, usual);
    if (!log.writes(level)) return;
    const ms = Math.round((performance.now() - started) * 10) / 10;
    const fields = { method: c.req.method, path: shownPath(c.req.url), status: c.res.status, ms };
    if (!every) return log[level](fields, "request answered");
    const { kind, name } = c.get("caller") ?? NOBODY;
    log[level]({ ...fields, caller: name ?? kind, address }, "request answered");
  };
