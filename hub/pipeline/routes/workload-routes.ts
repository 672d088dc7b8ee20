import { z } from "@hono/zod-openapi";
import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit, jsonLimit } from "#hub/platform/http/guards.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import { oneOf } from "#shared/kit/one-of.ts";
import { PYTHON_EXAMPLE } from "#shared/protocol/code-examples.ts";
import { EXECUTOR_TYPES, EXECUTORS } from "#shared/protocol/executors.ts";
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

const HARMLESS = EXECUTOR_TYPES.filter((type) => !EXECUTORS[type].runs_code);
export const CODE = `an executor that is not ${oneOf(HARMLESS)}`;
const path = (rest = "") => `/api/v1/workloads${rest}`;
const tags = ["workloads"];
const slug = z.string().openapi({ param: { name: "slug", in: "path" }, example: "thumbnails" });
export const Params = z.object({ slug });
const TaskParams = Params.extend({
  pk: z.string().openapi({ param: { name: "pk", in: "path" }, example: "page-1" }),
});
export const IfMatch = z.object({
  "if-match": z
    .string()
    .optional()
    .describe("The ETag of the settings to change: 412 if they have changed since"),
});
/** The ETag names the settings; it grows with every edit of them. */
export const tagged = <T extends z.ZodType>(schema: T) => ({
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
  executor_config: { code: PYTHON_EXAMPLE },
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
    admin_for: CODE,
    changes: ["v1/workloads"],
    tags,
    operationId: "createWorkload",
    summary: "Create a workload",
    description:
      "The answer has every setting, with defaults filled in. An existing slug is 409, an unknown key 422; so is a plugin that is unknown, broken or of another executor, and a name in `emits` that is not a workload. `executor_config.code` is the first version of the workload's code. With `check=true` a worker loads its code, and `check` has the result; the workload is created either way.",
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
      "Answers `ok`, or `broken` with the error and its traceback; with `task` the worker also runs that one task, which is in no queue, and `run` tells what became of it. The worker learns of it with its next heartbeat, within 5 s. 409 if no live worker may run the workload, 504 if the worker does not answer within `timeout_s`.",
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
      "Its settings; `GET /api/v1/workloads/{slug}/queue` counts its tasks. Send the ETag as `If-Match` with an edit, so that two people who edit at the same time do not overwrite each other.",
    request: { params: Params },
    responses: { ...tagged(Workload), ...fails(404) },
  }),
  replace: createRoute({
    method: "put",
    path: path("/{slug}"),
    access: "operate",
    admin_for: CODE,
    changes: ["v1/workloads"],
    tags,
    operationId: "replaceWorkload",
    summary: "Replace a workload's settings",
    description:
      "Replaces every setting that can change; those not given get their defaults. Other code than what runs makes a version; `code_version`, as a record has it, keeps the code. Names are checked as at creation, but a stored plugin or name in `emits` may stay even if it no longer exists. Running tasks keep the settings they were claimed with.",
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
    description:
      "A workload that is off keeps its tasks and accepts new ones, but none is claimed.",
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
    summary: "Allow or forbid the supervisor to intervene",
    description: "Whether the supervisor may pause this workload and retry its failed tasks.",
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
      "409 while tasks are claimed; `force=true` deletes it nevertheless; later reports of its workers are stale.",
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
    new_work: true,
    changes: ["v1/workloads"],
    tags,
    operationId: "submitTask",
    summary: "Submit a task",
    description:
      "A key that is pending, claimed or failed is a duplicate and is not changed; one that succeeded may be submitted again.",
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
    new_work: true,
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
    summary: "Count the tasks in the queue",
    description:
      "`pending` includes tasks that wait for their time. The counters are kept up to date, so the call costs the same for any queue length.",
    request: { params: Params },
    responses: { ...ok(QueueCounts), ...fails(404) },
  }),
  peek: createRoute({
    method: "get",
    path: path("/{slug}/queue/peek"),
    access: "view",
    tags,
    operationId: "peekQueue",
    summary: "List queue rows, oldest first",
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
    summary: "Retry all failed tasks",
    description: "Each becomes pending with all its attempts again.",
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
      "The run of a claimed task ends as `cancelled`; later reports of its worker are stale. Slashes in the key are written as %2F.",
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
    summary: "Retry one failed task",
    description:
      "It becomes pending with all its attempts again; 409 if the task is in the queue but not failed.",
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
      "Its row while it is in the queue, and every finished attempt, even afterwards. For the output of a running attempt see `GET /api/v1/workers/{id}/runs`.",
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
    description: "The same answer as `GET /api/v1/workloads/{slug}/tasks/{pk}`.",
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
      "`before`: only runs with a lower `run_id`; `success`, `outcome`, `pk`, `worker_id`, `since`, `until`: only matching runs; `brief`: without output. A search may answer with only a few runs, or none, and a `next_cursor` to continue from (`next_before` is the same for `before`).",
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
    description: "As for one workload, up to 1,000 at a time.",
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
    description: "With all of its stored output: the first and last 256 KB of stdout and stderr.",
    request: { params: RunParams },
    responses: { ...ok(Run), ...fails(404, 422) },
  }),
};
