import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import { Job, PatchJob } from "#shared/protocol/schema/job.ts";
import type { FleetContext } from "../context.ts";
import { changeLabels } from "../jobs/labels.ts";
import { getRow } from "../jobs/read-jobs.ts";
import { idempotent } from "./idempotent.ts";
import { IdempotencyHeader, JobParams } from "./params.ts";

/** Labels of a job that is stored (rules/labels#change-the-labels-of-a-job). */
export function jobLabelRoutes(ctx: FleetContext) {
  const patch = createRoute({
    method: "patch",
    path: "/jobs/{id}",
    access: "submit",
    changes: ["jobs"],
    tags: ["jobs"],
    operationId: "changeJob",
    summary: "Change the labels of a job, whatever its state",
    description: "A value sets a label, null removes it, and labels that are not named stay.",
    middleware: [jsonBodyLimit, idempotent(ctx)],
    request: {
      ...json(PatchJob, { labels: { team: "growth", draft: null } }),
      params: JobParams,
      headers: IdempotencyHeader,
    },
    responses: { ...ok(Job), ...fails(400, 404, 409, 413, 415, 422) },
  });
  return newApp().openapi(patch, async (c) => {
    const row = await getRow(ctx, c.req.valid("param").id);
    return c.json(await changeLabels(ctx, row, c.req.valid("json").labels), 200);
  });
}
