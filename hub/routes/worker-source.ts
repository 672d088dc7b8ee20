import { z } from "@hono/zod-openapi";
import type { HubContext } from "../context.ts";
import { createRoute } from "../http/create-route.ts";
import { newApp } from "../http/new-app.ts";
import { bytes, fails, streamed } from "../http/openapi-parts.ts";
import { createWorkerSource } from "../update/worker-source.ts";

const source = createRoute({
  method: "get",
  path: "/worker-source.tar.gz",
  access: "public",
  tags: ["workers"],
  summary: "The program's sources, as workers fetch them",
  description:
    "A gzip tar of the sources and VERSION; the same bytes for the same version. Open without a token: do not expose " +
    "it outside of the LAN. 503 when the hub has no sources, or they changed since it started.",
  request: { headers: z.object({ "if-none-match": z.string().optional() }) },
  responses: {
    200: bytes("The archive"),
    304: { description: "If-None-Match names it" },
    ...fails(503),
  },
});

const named = (header: string | undefined, etag: string): boolean =>
  (header ?? "").split(",").some((tag) => ["*", etag].includes(tag.trim().replace(/^W\//, "")));

/** GET /worker-source.tar.gz (fleet spec §4.3, §5.4). */
export function workerSourceRoutes(ctx: Pick<HubContext, "version" | "clock">) {
  const openArchive = createWorkerSource(ctx.version, ctx.clock);
  return newApp().openapi(source, async (c) => {
    const { archive, etag } = await openArchive();
    const headers = { ETag: etag, "Cache-Control": "no-cache", "X-Flotilla-Version": ctx.version };
    if (named(c.req.header("if-none-match"), etag)) return c.body(null, 304, headers);
    const type = { "Content-Type": "application/gzip" };
    const length = { "Content-Length": String(archive.byteLength) };
    return streamed(c.body(archive.slice().buffer, 200, { ...headers, ...type, ...length }));
  });
}
