import type { Context } from "hono";

/** Whether a browser calls, so a person reads the answer. */
export const wantsPage = (c: Context): boolean =>
  /\btext\/html\b/i.test(c.req.header("accept") ?? "");
