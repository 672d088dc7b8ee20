import { z } from "@hono/zod-openapi";
import mime from "mime";
import { access } from "#hub/platform/http/access.ts";
import { createRoute, describeRoute } from "#hub/platform/http/create-route.ts";
import { fileResponse } from "#hub/platform/http/file-response.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { bytes, fails, NOT_MODIFIED } from "#hub/platform/http/openapi-parts.ts";
import { notFound } from "#shared/kit/errors.ts";
import type { PipelineContext } from "../context.ts";
import { findObject } from "../objects.ts";
import { restOf } from "./plugin-params.ts";

const read = createRoute({
  method: "get",
  path: "/api/v1/minio/{key}",
  access: "view",
  tags: ["objects"],
  operationId: "getObject",
  summary: "Read an object of the object store",
  description:
    "Only keys that begin with one of SVC_MINIO_PREFIXES; any other is 404. Supports ETag, Range and If-None-Match.",
  request: {
    params: z.object({
      key: z
        .string()
        .openapi({ param: { name: "key", in: "path" }, example: "thumbnails/page-1.png" }),
    }),
  },
  responses: {
    200: bytes("The object"),
    206: bytes("The requested range"),
    ...NOT_MODIFIED,
    ...fails(400, 404, 416),
  },
});

/** Objects that people look at, such as thumbnails (rules/pipeline-operations#object-proxy). */
export function objectRoutes(ctx: Pick<PipelineContext, "objects" | "config">) {
  const app = newApp();
  describeRoute(app, read);
  app.get("/api/v1/minio/:key{[\\s\\S]+}", access(read.rules), async (c) => {
    const key = restOf(c, "minio");
    const { size, tag } = await findObject(ctx, key);
    const answer = await fileResponse(c, {
      name: key.split("/").at(-1) ?? "",
      size,
      tag,
      mime: mime.getType(key) ?? "application/octet-stream",
      read: (range) => ctx.objects.read(key, range),
      file: async () => (await ctx.objects.localFile?.(key)) ?? null,
    });
    if (!answer) throw notFound("object");
    return answer;
  });
  return app;
}
