import { z } from "@hono/zod-openapi";

/** Every error body (fleet spec §7, design/api.md). */
export const ErrorBody = z
  .object({
    detail: z.union([
      z.string(),
      z.array(
        z.object({
          loc: z.array(z.union([z.string(), z.number()])),
          msg: z.string(),
          type: z.string(),
        }),
      ),
    ]),
  })
  .openapi("Error");
