import { z } from "@hono/zod-openapi";
import { WaitingFor } from "./job.ts";

/** Every error body (rules/http#errors). */
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

/** 503 of POST /jobs (rules/jobs#at-capacity): if the job was stored, it stays queued. */
export const TooBusy = z
  .object({
    detail: z.string(),
    job_id: z.string().optional(),
    waiting_for: WaitingFor.optional(),
  })
  .openapi("TooBusy");
export type TooBusy = z.infer<typeof TooBusy>;
