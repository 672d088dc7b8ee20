import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { Topic } from "#hub/platform/changes.ts";
import { access } from "#hub/platform/http/access.ts";
import { createRoute } from "#hub/platform/http/create-route.ts";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import { jsonBodyLimit, jsonLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import { quickly } from "#hub/platform/http/quickly.ts";
import { notFound } from "#shared/kit/errors.ts";
import { PageQuery, pageOf } from "#shared/protocol/schema/page.ts";
import {
  ChangeFilter,
  Claimed,
  ClaimTasks,
  CompleteTasks,
  Exchange,
  Exchanged,
  FailTasks,
  PULL_WORKER_ID,
  PullHeartbeat,
  PullHeartbeatAnswer,
  PullWorker,
  PullWorkerList,
  RegisteredPull,
  RegisterPull,
  Reported,
} from "#shared/protocol/schema/pull.ts";
import type { PipelineContext } from "../context.ts";
import { claimedJson, stillExcluded } from "../pull/answer.ts";
import { awaitTasks } from "../pull/claims.ts";
import { plainExchange } from "../pull/plain.ts";
import { completeTasks, failTasks, releaseTasks } from "../pull/reports.ts";
import {
  beatPuller,
  changeFilter,
  drainPuller,
  leavePuller,
  listPullers,
  registerPuller,
  requirePuller,
} from "../pull/workers.ts";
import { keepNotes } from "../tasks/notes.ts";
import { tracedBatches } from "../tasks/task-traces.ts";

/** Reports carry what tasks printed. */
const MAX_REPORT_BYTES = 256 * 1024 * 1024;
export const reportLimit = jsonLimit(MAX_REPORT_BYTES);

const path = (rest = "") => `/api/v1/workers${rest}`;
const Params = z.object({
  id: z.string().openapi({ param: { name: "id", in: "path" }, example: "w123" }),
});
const incarnation = "b1946ac92492d234";
const attempt = { task_id: 17, epoch: 1 };
const Drain = z
  .strictObject({
    incarnation: z.string().min(8).max(64),
    /** The process ends now and has reported everything: the name is free. */
    leaving: z.boolean().default(false),
  })
  .openapi("DrainPull");

const call = <B extends z.ZodType, A extends z.ZodType>(
  name: string,
  topic: Topic,
  [operationId, summary, description]: [string, string, string],
  body: B,
  example: z.input<B>,
  answer: A,
) =>
  createRoute({
    method: "post",
    path: path(`/{id}/${name}`),
    access: "worker",
    changes: [topic],
    tags: ["pull workers"],
    operationId,
    summary,
    description,
    middleware: [reportLimit],
    request: { params: Params, ...json(body, example) },
    responses: { ...ok(answer), ...fails(400, 401, 404, 409, 413, 415, 422, 503) },
  });

const routes = {
  list: createRoute({
    method: "get",
    path: path(),
    access: "view",
    tags: ["pull workers"],
    operationId: "listPullWorkers",
    summary: "List pull workers",
    description: "Active, draining and offline ones, with what they run and their load.",
    request: { query: PageQuery },
    responses: { ...ok(PullWorkerList), ...fails(422) },
  }),
  filter: createRoute({
    method: "post",
    path: path("/{id}/filter"),
    access: "operate",
    changes: ["v1/workers"],
    tags: ["pull workers"],
    operationId: "filterPullWorker",
    summary: "Change which workloads a worker runs",
    description: "An empty `replace` means every workload. Takes effect with the next claim.",
    middleware: [jsonBodyLimit],
    request: { params: Params, ...json(ChangeFilter, { op: "add", workloads: ["thumbnails"] }) },
    responses: { ...ok(PullWorker), ...fails(400, 404, 409, 413, 415, 422) },
  }),
  register: call(
    "register",
    "v1/workers",
    [
      "registerPullWorker",
      "A worker's process starts",
      "From now on leases belong to the given `incarnation`. 409 `duplicate worker_id` while another live process has the name; `replaces` names an incarnation that is known to be dead.",
    ],
    RegisterPull,
    { incarnation, host: "gpu-1", slots: 4, version: "1.0.0" },
    RegisteredPull,
  ),
  heartbeat: call(
    "heartbeat",
    "v1/workers",
    [
      "renewPullWorker",
      "Renew the leases",
      "Answers what the worker no longer holds, and the commands for it.",
    ],
    PullHeartbeat,
    { incarnation, in_flight: [{ ...attempt, workload: "thumbnails" }], cpu_percent: 12.5 },
    PullHeartbeatAnswer,
  ),
  claim: call(
    "claim",
    "v1/tasks",
    [
      "claimTasks",
      "Claim tasks; waits for work",
      "A batch for each slot; empty if no task came within wait_ms.",
    ],
    ClaimTasks,
    { incarnation, slots: 4, wait_ms: 20_000 },
    Claimed,
  ),
  complete: call(
    "complete",
    "v1/tasks",
    [
      "completeTasks",
      "Report tasks that succeeded",
      "Each item is `ok`, also when reported again, or `stale`, which changes nothing.",
    ],
    CompleteTasks,
    { incarnation, items: [{ ...attempt, duration_ms: 12, output: { n: 1 } }] },
    Reported,
  ),
  fail: call(
    "fail",
    "v1/tasks",
    [
      "failTasks",
      "Report tasks that failed",
      "They wait according to their workload's backoff, or are failed for good.",
    ],
    FailTasks,
    {
      incarnation,
      items: [{ ...attempt, workload: "thumbnails", duration_ms: 12, error: "no such page" }],
    },
    Reported,
  ),
  exchange: call(
    "exchange",
    "v1/tasks",
    [
      "exchangeTasks",
      "Report and claim in one call",
      "The reports come first in the same transaction, so freed slots are filled immediately.",
    ],
    Exchange,
    { incarnation, done: [{ ...attempt, duration_ms: 12 }], want: { slots: 1 } },
    Exchanged,
  ),
  drain: call(
    "drain",
    "v1/workers",
    [
      "drainPullWorker",
      "Take no new tasks",
      "Waiting claims get an empty answer. With `leaving`, the last call of a process, its name becomes free.",
    ],
    Drain,
    { incarnation },
    z.object({ ok: z.literal(true) }),
  ),
};

/** The id of the calling worker. @throws AppError not_found for an impossible worker id */
export function callerOf(c: Context): string {
  const id = c.req.param("id") ?? "";
  if (!PULL_WORKER_ID.test(id)) throw notFound("worker");
  return id;
}

/**
 * JSON that is written by hand; it has the shape of the route's schema (test/api/pull.test.ts parses it with that
 * schema).
 */
const asJson = (text: string): Response =>
  new Response(text, { headers: { "content-type": "application/json" } });

/** Records the reports and claims in one transaction. */
async function exchange(
  ctx: Pick<PipelineContext, "clock" | "db" | "disk_room" | "log" | "pipeline" | "tracer">,
  c: Context<HttpEnv>,
  { incarnation, done, failed, released, want }: Exchange,
): Promise<Response> {
  const worker = await requirePuller(ctx, callerOf(c), incarnation);
  // A report is answered immediately; a worker that also wants to wait asks again.
  const reporting = done.length + failed.length + released.length > 0;
  const wait_ms = reporting ? 0 : want.wait_ms;
  const exclude = stillExcluded(ctx, want);
  await keepNotes(ctx, [...done, ...failed]);
  // Both happen in one turn of the event loop, so they are one transaction, in which the reports come first.
  const [reports, batches] = await Promise.all([
    Promise.all([
      completeTasks(ctx, incarnation, done),
      failTasks(ctx, incarnation, failed),
      releaseTasks(ctx, incarnation, released),
    ]),
    awaitTasks(ctx, worker, { ...want, wait_ms, exclude, reporting }, () => c.req.raw.signal),
  ]);
  const results = JSON.stringify(reports.flat());
  const beat = ctx.pipeline.wanted.delete(worker.worker_id) ? ',"beat":true' : "";
  const traced = await tracedBatches(ctx, batches);
  const claimed = claimedJson(ctx.pipeline.plugins, traced, want.known);
  return asJson(`${claimed},"results":${results}${beat}}`);
}

/** Pull workers and the calls they make (rules/pipeline-pull#what-a-worker-must-do). */
export function pullRoutes(ctx: PipelineContext) {
  const app = newApp();
  app.post(
    path("/:id/exchange"),
    access(routes.exchange.rules),
    quickly(MAX_REPORT_BYTES, plainExchange, (c, body) => exchange(ctx, c, body)),
  );
  return app
    .openapi(routes.list, async (c) => {
      const all = await listPullers(ctx);
      const { page, next_cursor } = pageOf(all, ({ id }) => id, c.req.valid("query"));
      return c.json({ workers: page, total: all.length, next_cursor }, 200);
    })
    .openapi(routes.filter, async (c) =>
      c.json(await changeFilter(ctx, c.req.valid("param").id, c.req.valid("json")), 200),
    )
    .openapi(routes.register, async (c) =>
      c.json(await registerPuller(ctx, callerOf(c), c.req.valid("json")), 200),
    )
    .openapi(routes.heartbeat, async (c) =>
      c.json(await beatPuller(ctx, callerOf(c), c.req.valid("json")), 200),
    )
    .openapi(routes.claim, async (c) => {
      const { incarnation, ...asked } = c.req.valid("json");
      const { known, ...want } = { ...asked, exclude: stillExcluded(ctx, asked) };
      const worker = await requirePuller(ctx, callerOf(c), incarnation);
      const found = await awaitTasks(ctx, worker, want, () => c.req.raw.signal);
      const batches = await tracedBatches(ctx, found);
      return asJson(`${claimedJson(ctx.pipeline.plugins, batches, known)}}`) as never;
    })
    .openapi(routes.complete, async (c) => {
      const { incarnation, items } = c.req.valid("json");
      await requirePuller(ctx, callerOf(c), incarnation);
      await keepNotes(ctx, items);
      return c.json({ items: await completeTasks(ctx, incarnation, items) }, 200);
    })
    .openapi(routes.fail, async (c) => {
      const { incarnation, items } = c.req.valid("json");
      await requirePuller(ctx, callerOf(c), incarnation);
      await keepNotes(ctx, items);
      return c.json({ items: await failTasks(ctx, incarnation, items) }, 200);
    })
    .openapi(routes.exchange, (c) => exchange(ctx, c, c.req.valid("json")) as never)
    .openapi(routes.drain, async (c) => {
      const { incarnation, leaving } = c.req.valid("json");
      const end = leaving ? leavePuller : drainPuller;
      await end(ctx, callerOf(c), incarnation);
      return c.json({ ok: true as const }, 200);
    });
}
