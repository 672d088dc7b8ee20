import { z } from "@hono/zod-openapi";
import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import {
  FailureList,
  FailureMove,
  FailureQuery,
  FailureSelection,
  TaskChanges,
  TaskMove,
  TaskSelection,
} from "#shared/protocol/schema/failure.ts";
import type { PipelineContext } from "../context.ts";
import { type Asked, actOnTasks, type TaskAction } from "../failures/act.ts";
import { listFailures } from "../failures/groups.ts";

const FINGERPRINT = "5f0c9f6c1a2b3c4d";
const SHARED =
  "`dry_run` answers how many it would be. It works in batches, each one statement, so repeating the call is safe; with `complete: false` repeat it to go on. ";
const slug = z.string().openapi({ param: { name: "slug", in: "path" }, example: "thumbnails" });
const Params = z.object({ slug });
const answers = { ...ok(TaskChanges), ...fails(400, 404, 409, 413, 415, 422) };
const common = {
  method: "post" as const,
  access: "operate" as const,
  changes: ["v1/workloads" as const],
  middleware: [jsonBodyLimit],
  responses: answers,
};
const ofWorkload = { ...common, tags: ["workloads"] };
const ofGroup = { ...common, tags: ["failures"] };

const WHAT = {
  retry: "Each failed one becomes pending with all its attempts again.",
  cancel:
    "Pending ones leave the queue; the runs of claimed ones end as `cancelled`, and later reports of their workers are stale.",
  delete: "Failed ones leave the queue; their runs stay.",
  move: "Failed and pending ones wait in the queue of `to`, with all their attempts; a key that is there already stays where it is and counts as a duplicate. Claimed ones are not moved.",
} as const;

const list = createRoute({
  method: "get",
  path: "/api/v1/failures",
  access: "view",
  tags: ["failures"],
  operationId: "listFailures",
  summary: "Failed runs in groups, by what they have in common",
  description:
    "Each group has a fingerprint, how often it happened in each part of the time, and its newest run with the traceback. `next_cursor` is the `cursor` of the next page, null on the last.",
  request: { query: FailureQuery },
  responses: { ...ok(FailureList), ...fails(404, 422) },
});

const example = { fingerprint: FINGERPRINT, dry_run: true };
const ofTasks = {
  retry: createRoute({
    ...ofWorkload,
    path: "/api/v1/workloads/{slug}/tasks/retry",
    operationId: "retryTasks",
    summary: "Retry the failed tasks that a filter finds",
    description: SHARED + WHAT.retry,
    request: { params: Params, ...json(TaskSelection, example) },
  }),
  cancel: createRoute({
    ...ofWorkload,
    path: "/api/v1/workloads/{slug}/tasks/cancel",
    operationId: "cancelTasks",
    summary: "Cancel the pending and claimed tasks that a filter finds",
    description: SHARED + WHAT.cancel,
    request: { params: Params, ...json(TaskSelection, { text: "page-", dry_run: true }) },
  }),
  delete: createRoute({
    ...ofWorkload,
    path: "/api/v1/workloads/{slug}/tasks/delete",
    operationId: "deleteTasks",
    summary: "Delete the failed tasks that a filter finds",
    description: SHARED + WHAT.delete,
    request: { params: Params, ...json(TaskSelection, example) },
  }),
  move: createRoute({
    ...ofWorkload,
    path: "/api/v1/workloads/{slug}/tasks/move",
    operationId: "moveTasks",
    summary: "Move the tasks that a filter finds to another workload's queue",
    description: SHARED + WHAT.move,
    request: { params: Params, ...json(TaskMove, { ...example, to: "thumbnails-v2" }) },
  }),
};
const ofFailures = {
  retry: createRoute({
    ...ofGroup,
    path: "/api/v1/failures/retry",
    operationId: "retryFailures",
    summary: "Retry the failed tasks of a group, in all workloads",
    description: SHARED + WHAT.retry,
    request: json(FailureSelection, example),
  }),
  cancel: createRoute({
    ...ofGroup,
    path: "/api/v1/failures/cancel",
    operationId: "cancelFailures",
    summary: "Cancel the pending and claimed tasks whose last attempt failed like this group",
    description: SHARED + WHAT.cancel,
    request: json(FailureSelection, example),
  }),
  delete: createRoute({
    ...ofGroup,
    path: "/api/v1/failures/delete",
    operationId: "deleteFailures",
    summary: "Delete the failed tasks of a group, in all workloads",
    description: SHARED + WHAT.delete,
    request: json(FailureSelection, example),
  }),
  move: createRoute({
    ...ofGroup,
    path: "/api/v1/failures/move",
    operationId: "moveFailures",
    summary: "Move the tasks of a group to another workload's queue",
    description: SHARED + WHAT.move,
    request: json(FailureMove, { ...example, to: "thumbnails-v2" }),
  }),
};

/** Failures in groups (rules/failures#groups), and what is done to many tasks (rules/failures#acting-by-filter). */
export function failureRoutes(ctx: PipelineContext) {
  const act = (action: TaskAction, asked: Omit<Asked, "action">, workload?: string) =>
    actOnTasks(ctx, { ...asked, action, workload: workload ?? asked.workload });
  return newApp()
    .openapi(list, async (c) => c.json(await listFailures(ctx, c.req.valid("query")), 200))
    .openapi(ofTasks.retry, async (c) =>
      c.json(await act("retry", c.req.valid("json"), c.req.valid("param").slug), 200),
    )
    .openapi(ofTasks.cancel, async (c) =>
      c.json(await act("cancel", c.req.valid("json"), c.req.valid("param").slug), 200),
    )
    .openapi(ofTasks.delete, async (c) =>
      c.json(await act("delete", c.req.valid("json"), c.req.valid("param").slug), 200),
    )
    .openapi(ofTasks.move, async (c) =>
      c.json(await act("move", c.req.valid("json"), c.req.valid("param").slug), 200),
    )
    .openapi(ofFailures.retry, async (c) => c.json(await act("retry", c.req.valid("json")), 200))
    .openapi(ofFailures.cancel, async (c) => c.json(await act("cancel", c.req.valid("json")), 200))
    .openapi(ofFailures.delete, async (c) => c.json(await act("delete", c.req.valid("json")), 200))
    .openapi(ofFailures.move, async (c) => c.json(await act("move", c.req.valid("json")), 200));
}
