import type { MiddlewareHandler } from "hono";
import { hideCredentials } from "#shared/hide-credentials.ts";
import type { Log } from "#shared/log.ts";
import type { HttpEnv } from "./env.ts";

const MAX_PATH = 300;

/** A session id opens its viewer (fleet spec §5.2), so a log shows only its beginning; a path may be a target URL. */
const redact = (path: string) =>
  hideCredentials(path)
    .replace(/(\/sessions\/[^/]{4})[^/]+/g, "$1…")
    .slice(0, MAX_PATH);

/** As it was sent: decoded, a password in it could look like the end of it. */
const rawPath = (url: string) => url.replace(/^[a-z]+:\/\/[^/?#]*/i, "").replace(/\?.*$/s, "");

/** What pull workers send thousands of times a second, and agents all the time; a line of each that went well is for debugging. */
const WORKER_CALL =
  /\/api\/v1\/(workers\/[^/]+\/(exchange|claim|complete|fail|heartbeat)|agents\/[^/]+\/sync)$/;

/** One line per request, and `nosniff` on every answer. */
export const accessLog = (log: Log): MiddlewareHandler<HttpEnv> =>
  async function accessLogged(c, next) {
    const started = performance.now();
    await next();
    c.res.headers.set("X-Content-Type-Options", "nosniff");
    const level = c.res.status < 400 && WORKER_CALL.test(c.req.path) ? "debug" : "info";
    if (!log.writes(level)) return;
    const ms = Math.round((performance.now() - started) * 10) / 10;
    log[level](
      { method: c.req.method, path: redact(rawPath(c.req.url)), status: c.res.status, ms },
      "request answered",
    );
  };
