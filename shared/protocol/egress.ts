import { z } from "@hono/zod-openapi";
import { parseEgressRule } from "./egress-rules.ts";

/**
 * Where lanes may connect. `open`: everywhere except what is always refused. `public`: no loopback, no private
 * ranges. `listed`: only where an allow rule permits it.
 */
export const EGRESS_MODES = ["open", "public", "listed"] as const;
export const EgressMode = z.enum(EGRESS_MODES);
export type EgressMode = z.infer<typeof EgressMode>;

export const EgressRuleText = z
  .string()
  .max(300)
  .refine((raw) => parseEgressRule(raw) !== null, {
    error:
      "must be an address, a CIDR range or a host name with *, and may end in :PORT or :PORT-PORT",
  });

const rules = () => z.array(EgressRuleText).max(200).default([]);

/** What a job or a session asks for. `allow`: exceptions from `public`, and everything that `listed` permits. */
export const EgressOption = z
  .strictObject({
    mode: EgressMode.nullable().default(null).meta({
      description:
        "open: everywhere. public: no loopback and no private addresses. listed: only what allow names. Default: the worker's own mode.",
    }),
    allow: rules().meta({
      description:
        "Exceptions: addresses, CIDR ranges, host names with *; :PORT or :PORT-PORT may follow.",
    }),
    deny: rules().meta({ description: "Where connections are forbidden; overrides allow." }),
  })
  .openapi("EgressOption");
export type EgressOption = z.infer<typeof EgressOption>;
