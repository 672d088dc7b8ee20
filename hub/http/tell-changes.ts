import type { MiddlewareHandler } from "hono";
import type { Changes } from "../changes.ts";
import type { HttpEnv } from "./env.ts";

/** Every call that changed something tells the pages that show it. */
export const tellChanges = (changes: Pick<Changes, "called">): MiddlewareHandler<HttpEnv> =>
  async function changesTold(c, next) {
    await next();
    if (c.req.method !== "GET" && c.req.method !== "HEAD" && c.res.status < 400)
      changes.called(c.req.path);
  };
