import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import { notFound } from "#shared/kit/errors.ts";
import { WORKER_ID } from "#shared/protocol/ids.ts";
import { PageQuery, pageOf } from "#shared/protocol/schema/page.ts";
import { SetWorkerStatus, Worker, WorkerList } from "#shared/protocol/schema/worker.ts";
import type { FleetContext } from "../context.ts";
import { forgetWorker, getWorker, listWorkers, setWorkerStatus } from "../links/view.ts";
import { idempotent } from "./idempotent.ts";
import { IdempotencyHeader, WorkerParams } from "./params.ts";

const tags = ["workers"];

const checked = (id: string): string => {
  if (!WORKER_ID.test(id)) throw notFound("worker");
  return id;
};

/** Workers (rules/workers#worker-record). */
export function workerRoutes(ctx: FleetContext) {
  const middleware = [jsonBodyLimit, idempotent(ctx)];
  const list = createRoute({
    method: "get",
    path: "/workers",
    access: "view",
    tags,
    operationId: "listWorkers",
    summary: "List workers, connected or remembered",
    description:
      "With their lanes and what each lane is doing. 503 when the store that holds the view of the fleet does not answer.",
    request: { query: PageQuery },
    responses: { ...ok(WorkerList), ...fails(422, 503) },
  });
  const one = createRoute({
    method: "get",
    path: "/workers/{id}",
    access: "view",
    tags,
    operationId: "getWorker",
    summary: "Read one worker, connected to any hub or remembered",
    description: "In the same form as GET /workers.",
    request: { params: WorkerParams },
    responses: { ...ok(Worker), ...fails(404, 503) },
  });
  const status = createRoute({
    method: "post",
    path: "/workers/{id}/status",
    access: "operate",
    changes: ["workers"],
    tags,
    operationId: "setWorkerStatus",
    summary: "Set a worker to active, drain or standby",
    description:
      "`drain` finishes what runs and takes nothing new; any state may follow any other.",
    middleware,
    request: {
      params: WorkerParams,
      headers: IdempotencyHeader,
      ...json(SetWorkerStatus, { status: "drain" }),
    },
    responses: { ...ok(Worker), ...fails(400, 404, 409, 413, 415, 422, 503) },
  });
  const forget = createRoute({
    method: "delete",
    path: "/workers/{id}",
    access: "operate",
    changes: ["workers"],
    tags,
    operationId: "deleteWorker",
    summary: "Forget a worker that is not connected",
    description: "409 while it is connected: drain and stop it first.",
    middleware,
    request: { params: WorkerParams, headers: IdempotencyHeader },
    responses: { 204: { description: "Forgotten" }, ...fails(404, 409, 413, 422, 503) },
  });
  return newApp()
    .openapi(list, async (c) => {
      const { page, next_cursor } = pageOf(
        await listWorkers(ctx),
        ({ worker_id }) => worker_id,
        c.req.valid("query"),
      );
      return c.json({ workers: page, next_cursor }, 200);
    })
    .openapi(one, async (c) => c.json(await getWorker(ctx, checked(c.req.valid("param").id)), 200))
    .openapi(status, async (c) => {
      const id = checked(c.req.valid("param").id);
      return c.json(await setWorkerStatus(ctx, id, c.req.valid("json").status), 200);
    })
    .openapi(forget, async (c) => {
      await forgetWorker(ctx, checked(c.req.valid("param").id));
      return c.body(null, 204);
    });
}
