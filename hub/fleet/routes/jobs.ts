import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import { idempotencyKey } from "#hub/platform/idempotency/keyed-call.ts";
import { TooBusy } from "#shared/protocol/schema/error.ts";
import {
  Job,
  JobCount,
  JobCountQuery,
  JobList,
  JobListQuery,
  SubmitJob,
} from "#shared/protocol/schema/job.ts";
import type { FleetContext } from "../context.ts";
import { cancelJob } from "../jobs/cancel.ts";
import { countJobs, getJob, getRow, listJobs, recordOf } from "../jobs/read-jobs.ts";
import { removeJob } from "../jobs/remove.ts";
import { submitJob } from "../jobs/submit.ts";
import { idempotent } from "./idempotent.ts";
import { mergePreset } from "./job-preset.ts";
import { IdempotencyHeader, JobParams, PreferHeader } from "./params.ts";

const tags = ["jobs"];

/** RFC 7240 §4.1. */
const wantsAnswerAtOnce = (prefer = ""): boolean => /(^|,)\s*respond-async\s*(,|;|$)/i.test(prefer);

const list = createRoute({
  method: "get",
  path: "/jobs",
  access: "view",
  tags,
  operationId: "listJobs",
  summary: "List jobs, newest first",
  description:
    "Filters narrow one another; `next_cursor` is the `cursor` of the next page, null on the last.",
  request: { query: JobListQuery },
  responses: { ...ok(JobList), ...fails(422) },
});
const count = createRoute({
  method: "get",
  path: "/jobs/count",
  access: "view",
  tags,
  operationId: "countJobs",
  summary: "Count the jobs that filters match",
  description: "At most 1,000; `more` says that there are others.",
  request: { query: JobCountQuery },
  responses: { ...ok(JobCount), ...fails(422) },
});
const read = createRoute({
  method: "get",
  path: "/jobs/{id}",
  access: "view",
  tags,
  operationId: "getJob",
  summary: "Read a job",
  description: "The whole record, even while the job is queued or runs.",
  request: { params: JobParams },
  responses: { ...ok(Job), ...fails(404) },
});

/** Jobs: submit, list, read, cancel, delete (rules/jobs#submit-a-job). */
export function jobRoutes(ctx: FleetContext) {
  const middleware = [jsonBodyLimit, idempotent(ctx)];
  const submit = createRoute({
    method: "post",
    path: "/jobs",
    access: "submit",
    new_work: true,
    changes: ["jobs"],
    tags,
    operationId: "submitJob",
    summary: "Submit a job",
    description:
      "Waits about 8 s for a lane; after that 503, and the job stays queued. Jobs of modes codegen-loop and rerun " +
      "are answered at once, queued; a codegen-loop job is 409 while no engine is configured that could write its " +
      "scripts, and the answer says what to configure. `preset` names options from /presets; those given here take " +
      "precedence. With `Prefer: respond-async` every job is answered at once, queued or not.",
    middleware: [...middleware, mergePreset(ctx)],
    request: {
      ...json(SubmitJob, { url: "https://example.com/", options: { idle_seconds: 1 } }),
      headers: IdempotencyHeader.extend(PreferHeader.shape),
    },
    responses: {
      ...ok(Job, "The job, running or queued"),
      ...fails(400, 409, 413, 415, 422),
      503: {
        description: "The fleet is at capacity; the job stays queued. Try again with backoff",
        content: { "application/json": { schema: TooBusy } },
      },
    },
  });
  const cancel = createRoute({
    method: "post",
    path: "/jobs/{id}/cancel",
    access: "submit",
    changes: ["jobs"],
    tags,
    operationId: "cancelJob",
    summary: "Cancel a job; what a running one stored is kept",
    description:
      "A job that has ended is 409. The lane of a running one is stopped and offered again.",
    middleware,
    request: { params: JobParams, headers: IdempotencyHeader },
    responses: { ...ok(Job), ...fails(404, 409, 413, 422) },
  });
  const remove = createRoute({
    method: "delete",
    path: "/jobs/{id}",
    access: "operate",
    changes: ["jobs"],
    tags,
    operationId: "deleteJob",
    summary: "Delete a job and its files; a running one is cancelled first",
    description: "Its record, events and stored bodies are gone afterwards.",
    middleware,
    request: { params: JobParams, headers: IdempotencyHeader },
    responses: { 204: { description: "Deleted" }, ...fails(404, 409, 413, 422) },
  });

  return newApp()
    .openapi(submit, async (c) => {
      const idempotency_key = idempotencyKey(c);
      const wait = !wantsAnswerAtOnce(c.req.header("prefer"));
      return c.json(await submitJob(ctx, c.req.valid("json"), { idempotency_key, wait }), 200);
    })
    .openapi(list, async (c) => c.json(await listJobs(ctx, c.req.valid("query")), 200))
    .openapi(count, async (c) => c.json(await countJobs(ctx, c.req.valid("query")), 200))
    .openapi(read, async (c) => c.json(await getJob(ctx, c.req.valid("param").id), 200))
    .openapi(cancel, async (c) => {
      const { job_id } = await getRow(ctx, c.req.valid("param").id);
      return c.json(await recordOf(ctx, await cancelJob(ctx, job_id)), 200);
    })
    .openapi(remove, async (c) => {
      const { job_id } = await getRow(ctx, c.req.valid("param").id);
      await removeJob(ctx, job_id);
      return c.body(null, 204);
    });
}
