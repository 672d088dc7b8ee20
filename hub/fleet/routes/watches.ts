import type { Context } from "hono";
import { trustedOnly } from "#hub/platform/http/admit.ts";
import { createRoute } from "#hub/platform/http/create-route.ts";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import { Job } from "#shared/protocol/schema/job.ts";
import { PageQuery, pageOf } from "#shared/protocol/schema/page.ts";
import { PatchWatch, PutWatch, Watch, WatchList } from "#shared/protocol/schema/watch.ts";
import type { FleetContext } from "../context.ts";
import { watchRecord } from "../watches/record.ts";
import {
  captureNow,
  createWatch,
  deleteWatch,
  listWatches,
  patchWatch,
  replaceWatch,
  watchRow,
} from "../watches/watches.ts";
import type { IdempotentContext } from "./idempotent.ts";
import { idempotent } from "./idempotent.ts";
import { IdempotencyHeader, WatchParams } from "./params.ts";

const tags = ["watches"];
const params = WatchParams;
const headers = IdempotencyHeader;
const EXAMPLE = { url: "https://example.com/", cron: "0 7 * * *", cron_tz: "Europe/Vienna" };

const list = createRoute({
  method: "get",
  path: "/watches",
  access: "view",
  tags,
  operationId: "listWatches",
  summary: "List all watches",
  description: "In the order of their creation. Their captures are `GET /jobs?watch=<watch_id>`.",
  request: { query: PageQuery },
  responses: { ...ok(WatchList), ...fails(422, 503) },
});
const read = createRoute({
  method: "get",
  path: "/watches/{watch_id}",
  access: "view",
  tags,
  operationId: "getWatch",
  summary: "Read a watch",
  description: "What it captures and when, its last capture, and whether it is failing.",
  request: { params },
  responses: { ...ok(Watch), ...fails(404, 503) },
});

/** The calls that change something. */
function writes(ctx: IdempotentContext) {
  const middleware = [jsonBodyLimit, idempotent(ctx)];
  const write = { access: "operate" as const, changes: ["watches" as const], tags, middleware };
  return {
    create: createRoute({
      ...write,
      method: "post",
      path: "/watches",
      new_work: true,
      admin_for: "webhook_url",
      operationId: "createWatch",
      summary: "Capture a page again and again",
      description:
        "On a schedule, `cron` in the zone `cron_tz` or every `every_s` seconds. Each completed capture is compared with the one before.",
      request: { headers, ...json(PutWatch, EXAMPLE) },
      responses: { 201: ok(Watch, "Created")[200], ...fails(400, 409, 413, 415, 422, 503) },
    }),
    replace: createRoute({
      ...write,
      method: "put",
      path: "/watches/{watch_id}",
      admin_for: "webhook_url",
      operationId: "putWatch",
      summary: "Replace what is decided about a watch",
      description: "What is left out has its default. Captures and the baseline stay.",
      request: { params, headers, ...json(PutWatch, EXAMPLE) },
      responses: { ...ok(Watch), ...fails(400, 404, 409, 413, 415, 422, 503) },
    }),
    patch: createRoute({
      ...write,
      method: "patch",
      path: "/watches/{watch_id}",
      admin_for: "webhook_url",
      operationId: "patchWatch",
      summary: "Change some of a watch",
      description: "What is left out stays. `cron` replaces `every_s`, and the other way round.",
      request: { params, headers, ...json(PatchWatch, { paused: true }) },
      responses: { ...ok(Watch), ...fails(400, 404, 409, 413, 415, 422, 503) },
    }),
    remove: createRoute({
      ...write,
      method: "delete",
      path: "/watches/{watch_id}",
      operationId: "deleteWatch",
      summary: "Delete a watch",
      description: "Its captures stay, as any other jobs.",
      request: { params, headers },
      responses: { 204: { description: "Deleted" }, ...fails(404, 409, 413, 422, 503) },
    }),
    capture: createRoute({
      ...write,
      method: "post",
      path: "/watches/{watch_id}/capture",
      access: "submit",
      new_work: true,
      changes: ["watches", "jobs"],
      operationId: "captureWatch",
      summary: "Capture a watch now",
      description:
        "Whatever its schedule says, even while it is paused. 409 while a capture of it is under way.",
      request: { params, headers },
      responses: { ...ok(Job, "The job, queued"), ...fails(404, 409, 413, 422, 503) },
    }),
  };
}

/** Who sets a webhook decides where records of jobs are sent. */
const mayPost = async (
  c: Context<HttpEnv>,
  ctx: Pick<FleetContext, "admin" | "logins">,
  { webhook_url }: { webhook_url?: string | null | undefined },
): Promise<void> => {
  if (webhook_url) await trustedOnly(c, ctx);
};

/** Pages that are captured again and again (rules/watches#calls). */
export function watchRoutes(ctx: FleetContext) {
  const { create, replace, patch, remove, capture } = writes(ctx);
  return newApp()
    .openapi(list, async (c) => {
      const key = ({ created_at, watch_id }: Watch) => `${created_at} ${watch_id}`;
      const { page, next_cursor } = pageOf(await listWatches(ctx), key, c.req.valid("query"));
      return c.json({ watches: page, next_cursor }, 200);
    })
    .openapi(read, async (c) =>
      c.json(watchRecord(await watchRow(ctx, c.req.valid("param").watch_id)), 200),
    )
    .openapi(create, async (c) => {
      const input = c.req.valid("json");
      await mayPost(c, ctx, input);
      return c.json(await createWatch(ctx, input), 201);
    })
    .openapi(replace, async (c) => {
      const input = c.req.valid("json");
      await mayPost(c, ctx, input);
      return c.json(await replaceWatch(ctx, c.req.valid("param").watch_id, input), 200);
    })
    .openapi(patch, async (c) => {
      const input = c.req.valid("json");
      await mayPost(c, ctx, input);
      return c.json(await patchWatch(ctx, c.req.valid("param").watch_id, input), 200);
    })
    .openapi(remove, async (c) => {
      await deleteWatch(ctx, c.req.valid("param").watch_id);
      return c.body(null, 204);
    })
    .openapi(capture, async (c) =>
      c.json(await captureNow(ctx, c.req.valid("param").watch_id), 200),
    );
}
