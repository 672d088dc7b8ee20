import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import {
  JobChangesMade,
  JobFailureList,
  JobFailureQuery,
  JobSelection,
} from "#shared/protocol/schema/failure.ts";
import type { FleetContext } from "../context.ts";
import { actOnJobs } from "../failures/act.ts";
import { listJobFailures } from "../failures/groups.ts";
import { idempotent } from "./idempotent.ts";
import { IdempotencyHeader } from "./params.ts";

const tags = ["jobs"];
const SHARED =
  " The filters are those of `GET /jobs`, and one must be given. `dry_run` answers how many it would be. Repeating the call is safe; with `complete: false` repeat it to go on.";

const list = createRoute({
  method: "get",
  path: "/jobs/failures",
  access: "view",
  tags,
  operationId: "listJobFailures",
  summary: "Failed jobs in groups, by what they have in common",
  description:
    "Each group has a fingerprint, how often it happened in each part of the time, its hosts, and its newest job. The time is that of submission. `next_cursor` is the `cursor` of the next page, null on the last.",
  request: { query: JobFailureQuery },
  responses: { ...ok(JobFailureList), ...fails(422) },
});

/** Failed jobs in groups (rules/failures#groups), and what is done to many jobs (rules/failures#acting-on-jobs). */
export function jobFailureRoutes(ctx: FleetContext) {
  const common = {
    method: "post" as const,
    access: "operate" as const,
    changes: ["jobs" as const],
    tags,
    middleware: [jsonBodyLimit, idempotent(ctx)],
    request: {
      ...json(JobSelection, { fingerprint: "5f0c9f6c1a2b3c4d", dry_run: true }),
      headers: IdempotencyHeader,
    },
    responses: { ...ok(JobChangesMade), ...fails(400, 409, 413, 415, 422) },
  };
  const retry = createRoute({
    ...common,
    path: "/jobs/retry",
    operationId: "retryJobs",
    summary: "Submit the failed jobs that a filter finds again",
    description: `Each is submitted with its own options and labels, once: its \`retried_as\` names the new job, and it is not retried by a filter again. With \`status\` also cancelled or completed ones.${SHARED}`,
  });
  const cancel = createRoute({
    ...common,
    path: "/jobs/cancel",
    operationId: "cancelJobs",
    summary: "Cancel the queued and running jobs that a filter finds",
    description: `What running ones stored is kept.${SHARED}`,
  });
  const remove = createRoute({
    ...common,
    path: "/jobs/delete",
    operationId: "deleteJobs",
    summary: "Delete the failed jobs that a filter finds, with their files",
    description: `With \`status\` also cancelled or completed ones.${SHARED}`,
  });
  return newApp()
    .openapi(list, async (c) => c.json(await listJobFailures(ctx, c.req.valid("query")), 200))
    .openapi(retry, async (c) => c.json(await actOnJobs(ctx, "retry", c.req.valid("json")), 200))
    .openapi(cancel, async (c) => c.json(await actOnJobs(ctx, "cancel", c.req.valid("json")), 200))
    .openapi(remove, async (c) => c.json(await actOnJobs(ctx, "delete", c.req.valid("json")), 200));
}
