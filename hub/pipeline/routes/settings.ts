import { z } from "@hono/zod-openapi";
import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import { requireAdmin } from "#hub/platform/http/require-admin.ts";
import { AppError, badRequest } from "#shared/kit/errors.ts";
import {
  LlmTest,
  LlmTested,
  PutSetting,
  Setting,
  SettingList,
} from "#shared/protocol/schema/operations.ts";
import { PageQuery, pageOf } from "#shared/protocol/schema/page.ts";
import type { PipelineContext } from "../context.ts";
import { testLlm } from "../operations/llm-test.ts";
import { listSettings, unsetSetting, writeSetting } from "../operations/settings.ts";

const path = "/api/v1/settings";
const tags = ["settings"];
/** Each test holds a connection for as long as the engine may take. */
const MAX_TESTS = 8;
const Params = z.object({
  key: z.string().openapi({ param: { name: "key", in: "path" }, example: "service_log_days" }),
});

const routes = {
  list: createRoute({
    method: "get",
    path,
    tags,
    operationId: "listSettings",
    summary: "List settings with their effective values; secrets masked",
    description: "With the source and the meaning of each value.",
    access: "view",
    request: { query: PageQuery },
    responses: { ...ok(SettingList), ...fails(422) },
  }),
  write: createRoute({
    method: "put",
    path: `${path}/{key}`,
    tags,
    access: "admin",
    changes: ["v1/settings"],
    operationId: "putSetting",
    summary: "Store a setting; it takes effect immediately (administrator)",
    description: "An unknown key is 404, a value of the wrong type 422.",
    middleware: [jsonBodyLimit],
    request: { params: Params, ...json(PutSetting, { value: 14 }) },
    responses: { ...ok(Setting), ...fails(400, 401, 403, 404, 409, 413, 415, 422, 429) },
  }),
  unset: createRoute({
    method: "delete",
    path: `${path}/{key}`,
    tags,
    access: "admin",
    changes: ["v1/settings"],
    operationId: "deleteSetting",
    summary: "Go back to a setting's default (administrator)",
    description: "404 when nothing is stored.",
    request: { params: Params },
    responses: { 204: { description: "Unset" }, ...fails(401, 403, 404, 409, 429) },
  }),
  llm: createRoute({
    method: "post",
    path: `${path}/llm/test`,
    tags,
    access: "operate",
    changes: [],
    operationId: "testLlm",
    summary: "Test an LLM engine",
    description:
      "A configured engine by name, the default one with {}, or one described in the body. Sending a key to your own address " +
      "(url with api_key_env) needs the administrator's password.",
    middleware: [jsonBodyLimit],
    request: json(LlmTest, { url: "http://127.0.0.1:11434/v1", model: "llama3.2" }),
    responses: {
      ...ok(LlmTested, "Tested; `ok` has the result"),
      ...fails(400, 401, 403, 404, 413, 415, 422, 429, 503),
    },
  }),
};

/** Settings of the control plane (rules/pipeline-operations#settings). */
export function settingRoutes(ctx: PipelineContext) {
  let testing = 0;
  return newApp()
    .openapi(routes.list, async (c) => {
      const { page, next_cursor } = pageOf(
        await listSettings(ctx),
        ({ key }) => key,
        c.req.valid("query"),
      );
      return c.json({ settings: page, next_cursor }, 200);
    })
    .openapi(routes.write, async (c) => {
      const { value } = c.req.valid("json");
      if (value === undefined) throw badRequest("body.value is required");
      return c.json(await writeSetting(ctx, c.req.valid("param").key, value), 200);
    })
    .openapi(routes.unset, async (c) => {
      await unsetSetting(ctx, c.req.valid("param").key);
      return c.body(null, 204);
    })
    .openapi(routes.llm, async (c) => {
      const test = c.req.valid("json");
      // Otherwise anybody could have any variable sent to their own address.
      if (test.url !== undefined && test.api_key_env !== undefined) await requireAdmin(ctx, c);
      if (testing >= MAX_TESTS) throw new AppError("at_capacity", "too many tests are running");
      testing += 1;
      const tested = await testLlm(ctx, test).finally(() => {
        testing -= 1;
      });
      return c.json(tested, 200);
    });
}
