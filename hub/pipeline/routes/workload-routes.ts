import { z } from "@hono/zod-openapi";
import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit, jsonLimit } from "#hub/platform/http/guards.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import { CheckExecutor, ExecutorCheck } from "#shared/protocol/schema/executor.ts";
import { PageQuery, QueryBoolean } from "#shared/protocol/schema/page.ts";
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
  TaskHistory,
  TaskIn,
  WorkloadRunsQuery,
} from "#shared/protocol/schema/queue.ts";
import {
  CreatedWorkload,
  SetEnabled,
  SetSupervisorEnabled,
  Workload,
  WorkloadCreate,
  WorkloadList,
  WorkloadUpdate,
} from "#shared/protocol/schema/workload.ts";

export const MAX_BATCH_BYTES = 64 * 1024 * 1024;
const batchLimit = jsonLimit(MAX_BATCH_BYTES);

const path = (rest = "") => `/api/v1/workloads${rest}`;
const tags = ["workloads"];
const slug = z.string().openapi({ param: { name: "slug", in: "path" }, example: "thumbnails" });
const Params = z.object({ slug });
const TaskParams = Params.extend({
  pk: z.string().openapi({ param: { name: "pk", in: "path" }, example: "page-1" }),
});
const IfMatch = z.object({
  "if-match": z
    .string()
    .optional()
    .describe("The ETag of the settings that are changed: 412 when others are stored by now"),
});
/** The ETag names the settings; it grows with every edit of them. */
const tagged = <T extends z.ZodType>(schema: T) => ({
  200: {
    ...ok(schema)[200],
    headers: z.object({ ETag: z.string().openapi({ example: '"1767225600000"' }) }),
  },
});
const RunParams = z.object({
  run_id: z.coerce.number().openapi({
    param: { name: "run_id", in: "path", required: true },
    type: "integer",
    example: 17,
  }),
});

const SETTINGS = {
  name: "Thumbnails",
  executor_type: "python_module" as const,
  executor_config: {
    source_path: "/srv/plugins/thumbnails",
    module: "thumbnails",
    init_kwargs: { width: 320 },
  },
  batch_size: 10,
};
const TASK = { pk: "page-1", extra: { url: "https://example.com/1.jpg" } };

/**
 * Requests and responses under /api/v1/workloads and /api/v1/runs (rules/pipeline-workloads#fields-of-a-workload,
 * rules/pipeline-runs#list-runs).
 */
export const routes = {
  list: createRoute({
    method: "get",
    path: path(),
    access: "view",
    tags,
    operationId: "listWorkloads",
    summary: "List workloads",
    description: "Every workload with its settings.",
    request: { query: PageQuery },
    responses: { ...ok(WorkloadList), ...fails(422) },
  }),
  create: createRoute({
    method: "post",
    path: path(),
    access: "operate",
    admin_for: "an executor that is not fleet_fetch",
    changes: ["v1/workloads"],
    tags,
    operationId: "createWorkload",
    summary: "Create a workload",
    description:
      "The answer holds every setting, defaults filled in. A slug that exists is 409, a key that is not known 422; so is a plugin that is unknown, broken or of another executor, and a name in `emits` that is no workload. With `check=true` a worker loads its code, and `check` tells what it found: the workload is made either way.",
    middleware: [jsonBodyLimit],
    request: {
      query: z.object({ check: QueryBoolean.default(false) }),
      ...json(WorkloadCreate, { slug: "thumbnails", ...SETTINGS }),
    },
    responses: {
      201: { description: "Created", content: { "application/json": { schema: CreatedWorkload } } },
      ...fails(400, 409, 413, 415, 422),
    },
  }),
  check: createRoute({
    method: "post",
    path: path("/{slug}/check"),
    access: "operate",
    changes: ["v1/workloads"],
    tags,
    operationId: "checkWorkload",
    summary: "Have a worker load the workload's code",
    description:
      "Answers `ok`, or `broken` with the error and its traceback. The worker hears of it with its next heartbeat, within 5 s. 409 when no live worker may run the workload, 504 when the worker does not answer within `timeout_s`.",
    middleware: [jsonBodyLimit],
    request: {
      params: Params,
      body: { content: json(CheckExecutor, { timeout_s: 60 }).body.content, required: false },
    },
    responses: { ...ok(ExecutorCheck), ...fails(400, 404, 409, 413, 415, 422, 504) },
  }),
  read: createRoute({
    method: "get",
    path: path("/{slug}"),
    access: "view",
    tags,
    operationId: "getWorkload",
    summary: "Read a workload",
    description:
      "Its settings; its tasks are counted by `GET /api/v1/workloads/{slug}/queue`. The ETag is what `If-Match` of an edit names: two who edit at once do not write over each other.",
    request: { params: Params },
    responses: { ...tagged(Workload), ...fails(404) },
  }),
  replace: createRoute({
    method: "put",
    path: path("/{slug}"),
    access: "operate",
    admin_for: "an executor that is not fleet_fetch",
    changes: ["v1/workloads"],
    tags,
    operationId: "replaceWorkload",
    summary: "Replace a workload's settings",
    description:
      "Replaces every setting that can change: one that is not given becomes its default. Names are checked as at creation; a plugin or a name in `emits` that it holds already may stay although it is gone. Tasks that run go on under the settings they were claimed with.",
    middleware: [jsonBodyLimit],
    request: {
      params: Params,
      headers: IfMatch,
      ...json(WorkloadUpdate, { ...SETTINGS, priority: 5 }),
    },
    responses: { ...tagged(Workload), ...fails(400, 404, 409, 412, 413, 415, 422) },
  }),
  enabled: createRoute({
    method: "patch",
    path: path("/{slug}/enabled"),
    access: "operate",
    changes: ["v1/workloads"],
    tags,
    operationId: "setWorkloadEnabled",
    summary: "Switch a workload on or off",
    description: "A workload that is off keeps its tasks and takes new ones; none is claimed.",
    middleware: [jsonBodyLimit],
    request: { params: Params, headers: IfMatch, ...json(SetEnabled, { enabled: false }) },
    responses: { ...tagged(Workload), ...fails(400, 404, 409, 412, 413, 415, 422) },
  }),
  supervised: createRoute({
    method: "patch",
    path: path("/{slug}/supervisor_enabled"),
    access: "operate",
    changes: ["v1/workloads"],
    tags,
    operationId: "setWorkloadSupervisorEnabled",
    summary: "Let the supervisor intervene, or not",
    description: "Whether the supervisor may pause this workload and reset its failed tasks.",
    middleware: [jsonBodyLimit],
    request: {
      params: Params,
      headers: IfMatch,
      ...json(SetSupervisorEnabled, { supervisor_enabled: true }),
    },
    responses: { ...tagged(Workload), ...fails(400, 404, 409, 412, 413, 415, 422) },
  }),
  remove: createRoute({
    method: "delete",
    path: path("/{slug}"),
    access: "operate",
    changes: ["v1/workloads"],
    tags,
    operationId: "deleteWorkload",
    summary: "Delete a workload and its queue; its runs stay",
    description:
      "409 while tasks are claimed; `force=true` deletes it all the same, and what its workers report then is stale.",
    request: {
      params: Params,
      query: z.object({ force: QueryBoolean.default(false) }),
    },
    responses: { 204: { description: "Deleted" }, ...fails(400, 404, 409, 413, 422) },
  }),
  submit: createRoute({
    method: "post",
    path: path("/{slug}/tasks"),
    access: "submit",
    changes: ["v1/workloads"],
    tags,
    operationId: "submitTask",
    summary: "Submit a task",
    description:
      "A key that is pending, claimed or failed is a duplicate and left alone; one that succeeded may be submitted again.",
    middleware: [jsonBodyLimit],
    request: { params: Params, ...json(TaskIn, TASK) },
    responses: {
      201: { description: "Submitted", content: { "application/json": { schema: SubmitResult } } },
      ...fails(400, 404, 409, 413, 415, 422, 503),
    },
  }),
  batch: createRoute({
    method: "post",
    path: path("/{slug}/tasks/batch"),
    access: "submit",
    changes: ["v1/workloads"],
    tags,
    operationId: "submitTasks",
    summary: "Submit up to 10,000 tasks",
    description:
      "All or none: a task that breaks a rule is 422 with its place, and no task of the batch is stored.",
    middleware: [batchLimit],
    request: { params: Params, ...json(TaskBatch, { items: [TASK, { pk: "page-2" }] }) },
    responses: {
      201: { description: "Submitted", content: { "application/json": { schema: SubmitResult } } },
      ...fails(400, 404, 409, 413, 415, 422, 503),
    },
  }),
  counts: createRoute({
    method: "get",
    path: path("/{slug}/queue"),
    access: "view",
    tags,
    operationId: "getQueueCounts",
    summary: "Count the queue",
    description:
      "`pending` includes tasks that wait for their time. Counted while they change, so it costs the same for any length.",
    request: { params: Params },
    responses: { ...ok(QueueCounts), ...fails(404) },
  }),
  peek: createRoute({
    method: "get",
    path: path("/{slug}/queue/peek"),
    access: "view",
    tags,
    operationId: "peekQueue",
    summary: "Look at queue rows, oldest first",
    description:
      "`next_cursor` is the `cursor` of the next page, null on the last; it does not move as the queue drains. `next_offset` is the same for `offset`.",
    request: { params: Params, query: PeekQuery },
    responses: { ...ok(QueuePeek), ...fails(404, 422) },
  }),
  reset: createRoute({
    method: "post",
    path: path("/{slug}/queue/reset-failed"),
    access: "operate",
    changes: ["v1/workloads"],
    tags,
    operationId: "resetFailedTasks",
    summary: "Make every failed row pending",
    description: "Each has all its attempts again.",
    middleware: [jsonBodyLimit],
    request: { params: Params },
    responses: { ...ok(ResetFailed), ...fails(400, 404, 409, 413, 422) },
  }),
  drop: createRoute({
    method: "delete",
    path: path("/{slug}/queue/{pk}"),
    access: "operate",
    changes: ["v1/workloads"],
    tags,
    operationId: "removeTask",
    summary: "Remove a pending or failed task, cancel a claimed one",
    description:
      "The run of a claimed task ends as `cancelled`; what its worker reports then is stale. Slashes in the key are written as %2F.",
    request: { params: TaskParams },
    responses: { 204: { description: "Removed" }, ...fails(400, 404, 409, 413, 422) },
  }),
  resetOne: createRoute({
    method: "post",
    path: path("/{slug}/queue/{pk}/reset"),
    access: "operate",
    changes: ["v1/workloads"],
    tags,
    operationId: "resetTask",
    summary: "Make one failed row pending",
    description: "With all its attempts again; 409 when the task is in the queue and not failed.",
    middleware: [jsonBodyLimit],
    request: { params: TaskParams },
    responses: { 204: { description: "It is pending" }, ...fails(400, 404, 409, 413, 422) },
  }),
  task: createRoute({
    method: "get",
    path: path("/{slug}/tasks/{pk}"),
    access: "view",
    tags,
    operationId: "getTask",
    summary: "Read a task with its attempts",
    description:
      "Its row while it is in the queue, and every attempt that ended, also after that. What a running one prints: `GET /api/v1/workers/{id}/runs`.",
    request: { params: TaskParams },
    responses: { ...ok(TaskHistory), ...fails(404, 422) },
  }),
  history: createRoute({
    method: "get",
    path: "/api/v1/runs/{run_id}/task",
    access: "view",
    tags: ["runs"],
    operationId: "getTaskOfRun",
    summary: "Read the task of a run, with all its attempts",
    description: "As `GET /api/v1/workloads/{slug}/tasks/{pk}`.",
    request: { params: RunParams },
    responses: { ...ok(TaskHistory), ...fails(404, 422) },
  }),
  runs: createRoute({
    method: "get",
    path: path("/{slug}/runs"),
    access: "view",
    tags,
    operationId: "listWorkloadRuns",
    summary: "Runs of a workload, newest first",
    description:
      "`before`: only runs with a lower `run_id`; `success`, `outcome`, `pk`, `worker_id`, `since`, `until`: only such runs; `brief`: without what they printed. A search may answer with a few runs, or none, and a `next_cursor` to go on from (`next_before` is the same for `before`).",
    request: { params: Params, query: WorkloadRunsQuery },
    responses: { ...ok(RunList), ...fails(404, 422) },
  }),
  allRuns: createRoute({
    method: "get",
    path: "/api/v1/runs",
    access: "view",
    tags: ["runs"],
    operationId: "listRuns",
    summary: "Runs of all workloads, newest first",
    description: "As the runs of one workload, up to 1,000 at a time.",
    request: { query: AllRunsQuery },
    responses: { ...ok(RunList), ...fails(422) },
  }),
  run: createRoute({
    method: "get",
    path: "/api/v1/runs/{run_id}",
    access: "view",
    tags: ["runs"],
    operationId: "getRun",
    summary: "Read a run",
    description:
      "With all that was kept of its output: the first and last 256 KB of stdout and stderr.",
    request: { params: RunParams },
    responses: { ...ok(Run), ...fails(404, 422) },
  }),
};
