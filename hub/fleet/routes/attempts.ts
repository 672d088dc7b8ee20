import { z } from "@hono/zod-openapi";
import { createRoute } from "#hub/platform/http/create-route.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, ok } from "#hub/platform/http/openapi-parts.ts";
import { Attempt, AttemptList } from "#shared/protocol/schema/attempt.ts";
import type { FleetContext } from "../context.ts";
import { getAttempt, listAttempts } from "../jobs/attempts.ts";
import { JobParams } from "./params.ts";

const AttemptParams = JobParams.extend({
  n: z.string().openapi({ description: "Counts from 1 within the job", example: "1" }),
});

/** What scripted jobs tried (rules/scripts#attempts): GET /jobs/{id}/attempts and one of them. */
export function attemptRoutes(ctx: Pick<FleetContext, "db">) {
  const tags = ["jobs"];
  const list = createRoute({
    method: "get",
    path: "/jobs/{id}/attempts",
    access: "view",
    tags,
    operationId: "listJobAttempts",
    summary: "List the attempts of a codegen-loop or rerun job",
    description: "In order, without their long texts; empty for a fetch job and a queued one.",
    request: { params: JobParams },
    responses: { ...ok(AttemptList), ...fails(404) },
  });
  const read = createRoute({
    method: "get",
    path: "/jobs/{id}/attempts/{n}",
    access: "view",
    tags,
    operationId: "getJobAttempt",
    summary: "Read one attempt: prompt, reply, script, streams, verdict, timings, evidence",
    description: "Works while the attempt runs, too: what is not known yet is null or empty.",
    request: { params: AttemptParams },
    responses: { ...ok(Attempt), ...fails(404) },
  });
  return newApp()
    .openapi(list, async (c) => {
      const attempts = await listAttempts(ctx, c.req.valid("param").id);
      return c.json({ attempts }, 200);
    })
    .openapi(read, async (c) => {
      const { id, n } = c.req.valid("param");
      return c.json(await getAttempt(ctx, id, n), 200);
    });
}
