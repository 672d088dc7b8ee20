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
 * CORS for the origins of the moment; while there are none nothing is said about it. A call of no page asks nobody for
 * them, but must not be kept by a cache for the pages that are allowed.
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
