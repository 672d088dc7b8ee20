import type { Context } from "hono";

/** Whether the client speaks https, with this server or with a router before it. */
export const isSecure = (c: Context): boolean => {
  const forwarded = c.req.header("x-forwarded-proto")?.split(",")[0]?.trim().toLowerCase();
  return forwarded === "https" || c.req.url.startsWith("https:");
};
