import { z } from "@hono/zod-openapi";
import { nameOf } from "#hub/platform/http/caller.ts";
import { createRoute } from "#hub/platform/http/create-route.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { fails, json, ok } from "#hub/platform/http/openapi-parts.ts";
import { EXAMPLE_TASK, PYTHON_EXAMPLE } from "#shared/protocol/code-examples.ts";
import { ExecutorCheck } from "#shared/protocol/schema/executor.ts";
import { CheckDraft, Workload } from "#shared/protocol/schema/workload.ts";
import {
  RestoreVersion,
  VersionsQuery,
  WorkloadVersionCode,
  WorkloadVersionList,
} from "#shared/protocol/schema/workload-code.ts";
import { workloadTag } from "#shared/protocol/workload-tag.ts";
import { restoreVersion } from "../code/restore.ts";
import { getVersion, listVersions } from "../code/versions.ts";
import type { PipelineContext } from "../context.ts";
import { checkDraft } from "../pull/checks.ts";
import { codeIsTrusted } from "./code-is-trusted.ts";
import { CODE, IfMatch, Params, tagged } from "./workload-routes.ts";

const tags = ["workloads"];
const VERSION = "/api/v1/workloads/{slug}/versions/{version}";
const VersionParams = Params.extend({
  version: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000_000_000)
    .openapi({
      param: { name: "version", in: "path", required: true },
      type: "integer",
      example: 6,
    }),
});

const routes = {
  check: createRoute({
    method: "post",
    path: "/api/v1/workloads/check",
    access: "operate",
    admin_for: CODE,
    changes: [],
    tags,
    operationId: "checkDraft",
    summary: "Have a worker try settings that are not saved",
    description:
      "A worker loads the code and, with `task`, runs that one task. Nothing is saved, no task is queued and no run is recorded. Answers `ok`, or `broken` with the error and its traceback, and in `run` what became of the task. 409 if no live worker could run it, 504 if the worker does not answer within `timeout_s`.",
    middleware: [jsonBodyLimit],
    request: json(CheckDraft, {
      executor_type: "python_module",
      executor_config: { code: PYTHON_EXAMPLE },
      task: EXAMPLE_TASK,
    }),
    responses: { ...ok(ExecutorCheck), ...fails(400, 404, 409, 413, 415, 422, 503, 504) },
  }),
  list: createRoute({
    method: "get",
    path: "/api/v1/workloads/{slug}/versions",
    access: "view",
    tags,
    operationId: "listWorkloadVersions",
    summary: "List the versions of a workload's code",
    description: "The newest first, without the code; the newest 100 are kept.",
    request: { params: Params, query: VersionsQuery },
    responses: { ...ok(WorkloadVersionList), ...fails(404, 422) },
  }),
  read: createRoute({
    method: "get",
    path: VERSION,
    access: "view",
    tags,
    operationId: "getWorkloadVersion",
    summary: "Read a version of a workload's code",
    description: "With its code.",
    request: { params: VersionParams },
    responses: { ...ok(WorkloadVersionCode), ...fails(404, 422) },
  }),
  restore: createRoute({
    method: "post",
    path: `${VERSION}/restore`,
    access: "operate",
    admin_for: CODE,
    changes: ["v1/workloads"],
    tags,
    operationId: "restoreWorkloadVersion",
    summary: "Roll a workload back to a version of its code",
    description:
      "The version's code becomes the newest version, and a worker tries it at once. The other settings stay. Answers the workload; one that runs this code already is not changed.",
    middleware: [jsonBodyLimit],
    request: {
      params: VersionParams,
      headers: IfMatch,
      body: {
        content: json(RestoreVersion, { version_note: "the new one is too slow" }).body.content,
        required: false,
      },
    },
    responses: { ...tagged(Workload), ...fails(400, 404, 409, 412, 413, 415, 422) },
  }),
};

/** Code in workloads: trying it before it is saved, and its versions (rules/pipeline-code#versions). */
export function workloadCodeRoutes(ctx: PipelineContext) {
  return newApp()
    .openapi(routes.check, async (c) => {
      const wanted = c.req.valid("json");
      await codeIsTrusted(c, ctx, wanted);
      return c.json(await checkDraft(ctx, wanted, c.req.raw.signal), 200);
    })
    .openapi(routes.list, async (c) =>
      c.json(await listVersions(ctx, c.req.valid("param").slug, c.req.valid("query")), 200),
    )
    .openapi(routes.read, async (c) => {
      const { slug, version } = c.req.valid("param");
      return c.json(await getVersion(ctx, slug, version), 200);
    })
    .openapi(routes.restore, async (c) => {
      const { slug, version } = c.req.valid("param");
      await codeIsTrusted(c, ctx, { executor_type: "python_module" });
      // A call without a body means no note.
      const { version_note: note } = RestoreVersion.parse(c.req.valid("json") ?? {});
      const by = nameOf(c.var.caller);
      const if_match = c.req.header("if-match");
      const workload = await restoreVersion(ctx, slug, version, { by, note, if_match });
      return c.json(workload, 200, { ETag: workloadTag(workload) });
    });
}
