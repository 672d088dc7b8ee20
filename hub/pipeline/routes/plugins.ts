import type { Context } from "hono";
import mime from "mime";
import { access } from "#hub/platform/http/access.ts";
import { createRoute, describeRoute } from "#hub/platform/http/create-route.ts";
import { contentDisposition, fileResponse } from "#hub/platform/http/file-response.ts";
import { isHeld } from "#hub/platform/http/if-none-match.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { bytes, fails, NOT_MODIFIED, ok } from "#hub/platform/http/openapi-parts.ts";
import { notFound } from "#shared/kit/errors.ts";
import { PageQuery, pageOf } from "#shared/protocol/schema/page.ts";
import { PluginList } from "#shared/protocol/schema/plugin.ts";
import type { PipelineContext } from "../context.ts";
import { listPlugins, pluginArchive, webFile } from "../plugins/plugin-files.ts";
import { PluginParams, restOf, WebParams } from "./plugin-params.ts";

const tags = ["plugins"];
/**
 * A plugin's page runs its scripts in an opaque origin (no allow-same-origin): it has no cookies and no storage,
 * and cannot read this API's answers. Nor may it call the API blindly or send forms to it. It may load images and
 * scripts from this server, its own blobs included.
 */
const WEB_CSP = [
  "sandbox allow-scripts allow-modals allow-popups allow-downloads",
  "default-src 'self' data: blob: 'unsafe-inline'",
  "connect-src 'none'",
  "form-action 'none'",
  "base-uri 'none'",
  "object-src 'none'",
  "frame-ancestors 'self'",
].join("; ");

const list = createRoute({
  method: "get",
  path: "/api/v1/plugins/available",
  access: "view",
  tags,
  operationId: "listPlugins",
  summary: "List the plugins, broken ones with their errors",
  description:
    "Read from the plugins directory at every call: a plugin appears as soon as its folder exists.",
  request: { query: PageQuery },
  responses: { ...ok(PluginList), ...fails(422, 503) },
});
const archive = createRoute({
  method: "get",
  path: "/api/v1/plugins/{slug}/archive",
  access: "view",
  also: "worker",
  tags,
  operationId: "getPluginArchive",
  summary: "Download a plugin's folder as tar.gz",
  description: "For workers that do not have the folder. The ETag is a hash of the content.",
  request: { params: PluginParams },
  responses: {
    200: {
      description: "The archive",
      content: { "application/gzip": { schema: { type: "string", format: "binary" } } },
    },
    ...NOT_MODIFIED,
    ...fails(404, 409),
  },
});
const web = createRoute({
  method: "get",
  path: "/api/v1/plugins/{slug}/web/{path}",
  access: "view",
  tags,
  operationId: "getPluginPage",
  summary: "Static file of a plugin's pages",
  description: "index.html if the path ends with a slash. Supports ETag, Range and If-None-Match.",
  request: { params: WebParams },
  responses: {
    200: bytes("The file"),
    206: bytes("The requested range"),
    ...NOT_MODIFIED,
    ...fails(400, 404, 409, 416),
  },
});

const TEXT = /^(text\/|application\/(javascript|json|xml)|image\/svg)/;
const typeOf = (path: string): string => {
  const type = mime.getType(path) ?? "application/octet-stream";
  return TEXT.test(type) ? `${type}; charset=utf-8` : type;
};

/** Plugins and what comes with them (rules/pipeline-plugins#plugin-folders). */
export function pluginRoutes(ctx: Pick<PipelineContext, "db" | "kv" | "pipeline">) {
  const answerFile = async (c: Context) => {
    const slug = c.req.param("slug") ?? "";
    const file = await webFile(ctx, slug, restOf(c, "web"));
    const { size, sha256, on_disk } = file;
    const whole = Bun.file(on_disk);
    const answer = await fileResponse(c, {
      name: file.path.split("/").at(-1) ?? "",
      mime: typeOf(file.path),
      size,
      sha256,
      csp: WEB_CSP,
      page: true,
      read: async (range) => (range ? whole.slice(range.start, range.end + 1) : whole).stream(),
      file: async () => whole,
    });
    if (!answer) throw notFound("file");
    return answer;
  };
  const app = newApp();
  describeRoute(app, web);
  app
    .get("/api/v1/plugins/:slug/web/:path{[\\s\\S]+}", access(web.rules), answerFile)
    .get("/api/v1/plugins/:slug/web/", access(web.rules), answerFile)
    // Links of the page are relative to its folder.
    .get("/api/v1/plugins/:slug/web", access(web.rules), (c) =>
      c.redirect(`${new URL(c.req.url).pathname}/`, 308),
    );
  return app
    .openapi(list, async (c) => {
      const { page, next_cursor } = pageOf(
        await listPlugins(ctx),
        ({ slug }) => slug,
        c.req.valid("query"),
      );
      return c.json({ plugins: page, next_cursor }, 200);
    })
    .openapi(archive, async (c) => {
      const { sha256, open } = await pluginArchive(ctx, c.req.valid("param").slug);
      const headers = { ETag: `"${sha256}"`, "Cache-Control": "private, no-cache" };
      if (isHeld(c, headers.ETag)) return c.body(null, 304, headers);
      const name = `${c.req.valid("param").slug}.tar.gz`;
      return new Response(c.req.method === "HEAD" ? null : open(), {
        headers: {
          ...headers,
          "Content-Type": "application/gzip",
          "Content-Disposition": contentDisposition(name, "attachment"),
        },
      });
    });
}
