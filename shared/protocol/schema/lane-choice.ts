import { z } from "@hono/zod-openapi";
import { EgressOption } from "../egress.ts";
import { isMasked, ProxyOption } from "../proxy.ts";

/** On which lane a session or a one-shot call runs, and how its browser gets out. */

export const worker_id = z
  .string()
  .max(64)
  .nullable()
  .default(null)
  .meta({ description: "The worker on whose lane it runs; null: any." });

export const egress = EgressOption.nullable().default(null).meta({
  description:
    "Where the browser may connect. It can narrow what its worker allows, never widen it.",
});

export const proxy = ProxyOption.nullable()
  .default(null)
  .refine((given) => given === null || !isMasked(given), "has *** for its login")
  .meta({
    description:
      "The proxy for the browser, instead of the host's or the worker's: its URL, or server, username, password and bypass.",
  });
