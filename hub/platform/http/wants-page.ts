import type { Context } from "hono";

/** Whether a browser asks: what it is answered with is read by a person. */
export const wantsPage = (c: Context): boolean =>
  /\btext\/html\b/i.test(c.req.header("accept") ?? "");
