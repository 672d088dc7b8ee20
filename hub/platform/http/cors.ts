import type { MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import type { HttpEnv } from "./env.ts";

const allowing = (origins: readonly string[]): MiddlewareHandler =>
  cors({
    origin: [...origins],
    allowHeaders: ["Content-Type", "Authorization", "Idempotency-Key", "If-Match", "If-None-Match"],
    exposeHeaders: ["Retry-After", "ETag", "Content-Range"],
  });

/**
 * CORS for the current origins; while there are none, answers have no header of it. A call that comes from no page
 * needs no check of origins, but a cache must not keep its answer for allowed pages.
 */
export function corsFor(origins: () => Promise<readonly string[]>): MiddlewareHandler<HttpEnv> {
  let made = { of: "", handler: allowing([]) };
  return async function corsOfTheMoment(c, next) {
    if (c.req.header("origin") === undefined) {
      await next();
      if (made.of !== "") c.header("Vary", "Origin", { append: true });
      return;
    }
    const now = await origins();
    const of = now.join(" ");
    if (of !== made.of) made = { of, handler: allowing(now) };
    if (now.length === 0) return next();
    return made.handler(c, next);
  };
}
