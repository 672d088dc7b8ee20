import { z } from "@hono/zod-openapi";

/** What groups of failures are called by (rules/failures#fingerprints). */
export const Fingerprint = z
  .string()
  .regex(/^(?:[0-9a-f]{16}|unknown)$/, {
    error: "must be 16 hexadecimal digits, or unknown",
  })
  .openapi({
    example: "5f0c9f6c1a2b3c4d",
    description:
      "Of a group of failures. `unknown`: failures that were recorded before there were fingerprints",
  });
