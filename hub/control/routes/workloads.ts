import { createRoute, z } from "@hono/zod-openapi";
import { bodyLimit } from "hono/body-limit";
import { jsonBodyLimit } from "#hub/http/guards.ts";
import { newApp } from "#hub/http/new-app.ts";
import { fails, json, ok } from "#hub/http/openapi-parts.ts";
import { AppError } from "#shared/errors.ts";
import {
  AllRunsQuery,
  PeekQuery,
  QueueCounts,
  QueuePeek,
  ResetFailed,
  Run,
  RunList,
  SubmitResult,
  TaskBatch,
  TaskIn,
  WorkloadRunsQuery,
} from "#shared/schema/queue.ts";
import {
  SetEnabled,
  SetSupervisorEnabled,
  Workload,
  WorkloadCreate,
  WorkloadList,
  WorkloadUpdate,
} from "#shared/schema/workload.ts";
import type { ControlContext } from "../context.ts";
import { getCounts, peekQueue, removeTask, resetFailed } from "../queue.ts";
import { getRun, listRuns } from "../runs.ts";
import { submitTasks } from "../tasks.ts";
import {
  changeWorkload,
  createWorkload,
  deleteWorkload,
  getWorkload,
  listWorkloads,
  replaceWorkload,
} from "../workloads.ts";

const MAX_BATCH_BYTES = 64 * 1024 * 1024;
const batchLimit = bodyLimit({
  maxSize: MAX_BATCH_BYTES,
  onError: () => {
    throw new AppError("too_large", `body is larger than ${MAX_BATCH_BYTES} bytes`);
  },
});

const path = (rest = "") => `/api/v1/workloads${rest}`;
const tags = ["workloads"];
const slug = z.string().openapi({ param: { name: "slug", in: "path" }, example: "thumbnails" });
const Params = z.object({ slug });
const TaskParams = Params.extend({
  pk: z.string().openapi({ param: { name: "pk", in: "path" }, example: "page-1" }),
});
const RunParams = z.object({
  run_id: z.coerce.number().openapi({ param: { name: "run_id", in: "path" }, example: 17 }),
});

const routes = {
  list: createRoute({
    method: "get",
    path: path(),
    tags,
    summary: "List workloads",
    responses: ok(WorkloadList),
  }),
  create: createRoute({
    method: "post",
    path: path(),
    tags,
    summary: "Create a workload",
    middleware: [jsonBodyLimit],
    request: json(WorkloadCreate),
    responses: {
      201: { description: "Created", content: { "application/json": { schema: Workload } } },
      ...fails(400, 409, 413, 415, 422),
    },
  }),
  read: createRoute({
    method: "get",
    path: path("/{slug}"),
    tags,
    summary: "Read a workload",
    request: { params: Params },
    responses: { ...ok(Workload), ...fails(404) },
  }),
  replace: createRoute({
    method: "put",
    path: path("/{slug}"),
    tags,
    summary: "Replace a workload's settings",
    middleware: [jsonBodyLimit],
    request: { params: Params, ...json(WorkloadUpdate) },
    responses: { ...ok(Workload), ...fails(400, 404, 413, 415, 422) },
  }),
  enabled: createRoute({
    method: "patch",
    path: path("/{slug}/enabled"),
    tags,
    summary: "Switch a workload on or off",
    middleware: [jsonBodyLimit],
    request: { params: Params, ...json(SetEnabled) },
    responses: { ...ok(Workload), ...fails(400, 404, 413, 415, 422) },
  }),
  supervised: createRoute({
    method: "patch",
    path: path("/{slug}/supervisor_enabled"),
    tags,
    summary: "Let the supervisor intervene, or not",
    middleware: [jsonBodyLimit],
    request: { params: Params, ...json(SetSupervisorEnabled) },
    responses: { ...ok(Workload), ...fails(400, 404, 413, 415, 422) },
  }),
  remove: createRoute({
    method: "delete",
    path: path("/{slug}"),
    tags,
    summary: "Delete a workload and its queue; its runs stay",
    request: {
      params: Params,
      query: z.object({ force: z.stringbool().default(false) }),
    },
    responses: { 204: { description: "Deleted" }, ...fails(404, 409, 422) },
  }),
  submit: createRoute({
    method: "post",
    path: path("/{slug}/tasks"),
    tags,
    summary: "Submit a task",
    middleware: [jsonBodyLimit],
    request: { params: Params, ...json(TaskIn) },
    responses: {
      201: { description: "Submitted", content: { "application/json": { schema: SubmitResult } } },
      ...fails(400, 404, 413, 415, 422, 503),
    },
  }),
  batch: createRoute({
    method: "post",
    path: path("/{slug}/tasks/batch"),
    tags,
    summary: "Submit up to 10,000 tasks",
    middleware: [batchLimit],
    request: { params: Params, ...json(TaskBatch) },
    responses: {
      201: { description: "Submitted", content: { "application/json": { schema: SubmitResult } } },
      ...fails(400, 404, 413, 415, 422, 503),
    },
  }),
  counts: createRoute({
    method: "get",
    path: path("/{slug}/queue"),
    tags,
    summary: "Count the queue",
    request: { params: Params },
    responses: { ...ok(QueueCounts), ...fails(404) },
  }),
  peek: createRoute({
    method: "get",
    path: path("/{slug}/queue/peek"),
    tags,
    summary: "Look at queue rows, oldest first",
    request: { params: Params, query: PeekQuery },
    responses: { ...ok(QueuePeek), ...fails(404, 422) },
  }),
  reset: createRoute({
    method: "post",
    path: path("/{slug}/queue/reset-failed"),
    tags,
    summary: "Make every failed row pending",
    middleware: [jsonBodyLimit],
    request: { params: Params },
    responses: { ...ok(ResetFailed), ...fails(404, 413) },
  }),
  drop: createRoute({
    method: "delete",
    path: path("/{slug}/queue/{pk}"),
    tags,
    summary: "Remove a pending or failed task, cancel a claimed one",
    request: { params: TaskParams },
    responses: { 204: { description: "Removed" }, ...fails(404) },
  }),
  runs: createRoute({
    method: "get",
    path: path("/{slug}/runs"),
    tags,
    summary: "Runs of a workload, newest first",
    request: { params: Params, query: WorkloadRunsQuery },
    responses: { ...ok(RunList), ...fails(404, 422) },
  }),
  allRuns: createRoute({
    method: "get",
    path: "/api/v1/runs",
    tags: ["runs"],
    summary: "Runs of all workloads, newest first",
    request: { query: AllRunsQuery },
    responses: { ...ok(RunList), ...fails(422) },
  }),
  run: createRoute({
    method: "get",
    path: "/api/v1/runs/{run_id}",
    tags: ["runs"],
    summary: "Read a run",
    request: { params: RunParams },
    responses: { ...ok(Run), ...fails(404, 422) },
  }),
};

/** Workloads, their queues and runs (pipeline spec §4.1, §4.2). */
export function workloadRoutes(ctx: ControlContext) {
  return newApp()
    .openapi(routes.list, async (c) => c.json({ workloads: await listWorkloads(ctx) }, 200))
    .openapi(routes.create, async (c) =>
      c.json(await createWorkload(ctx, c.req.valid("json")), 201),
    )
    .openapi(routes.read, async (c) =>
      c.json(await getWorkload(ctx, c.req.valid("param").slug), 200),
    )
    .openapi(routes.replace, async (c) =>
      c.json(await replaceWorkload(ctx, c.req.valid("param").slug, c.req.valid("json")), 200),
    )
    .openapi(routes.enabled, async (c) =>
      c.json(await changeWorkload(ctx, c.req.valid("param").slug, c.req.valid("json")), 200),
    )
    .openapi(routes.supervised, async (c) =>
      c.json(await changeWorkload(ctx, c.req.valid("param").slug, c.req.valid("json")), 200),
    )
    .openapi(routes.remove, async (c) => {
      await deleteWorkload(ctx, c.req.valid("param").slug, c.req.valid("query").force);
      return c.body(null, 204);
    })
    .openapi(routes.submit, async (c) => {
      const task = c.req.valid("json");
      const { slug: of } = c.req.valid("param");
      return c.json(await submitTasks(ctx, of, [task], () => ["body"]), 201);
    })
    .openapi(routes.batch, async (c) => {
      const { items } = c.req.valid("json");
      const { slug: of } = c.req.valid("param");
      return c.json(await submitTasks(ctx, of, items, (i) => ["body", "items", i]), 201);
    })
    .openapi(routes.counts, async (c) =>
      c.json(await getCounts(ctx, c.req.valid("param").slug), 200),
    )
    .openapi(routes.peek, async (c) =>
      c.json(await peekQueue(ctx, c.req.valid("param").slug, c.req.valid("query")), 200),
    )
    .openapi(routes.reset, async (c) =>
      c.json({ reset: await resetFailed(ctx, c.req.valid("param").slug) }, 200),
    )
    .openapi(routes.drop, async (c) => {
      const { slug: of, pk } = c.req.valid("param");
      await removeTask(ctx, of, pk);
      return c.body(null, 204);
    })
    .openapi(routes.runs, async (c) => {
      const runs = await listRuns(ctx, c.req.valid("query"), c.req.valid("param").slug);
      return c.json({ runs }, 200);
    })
    .openapi(routes.allRuns, async (c) =>
      c.json({ runs: await listRuns(ctx, c.req.valid("query")) }, 200),
    )
    .openapi(routes.run, async (c) => c.json(await getRun(ctx, c.req.valid("param").run_id), 200));
}
