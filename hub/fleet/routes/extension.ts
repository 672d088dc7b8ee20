import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { createRoute } from "#hub/platform/http/create-route.ts";
import { contentDisposition } from "#hub/platform/http/file-response.ts";
import { isSecure } from "#hub/platform/http/is-secure.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { bytes, fails, streamed } from "#hub/platform/http/openapi-parts.ts";
import { notFound } from "#shared/kit/errors.ts";
import { extensionFile, extensionZip, installPage } from "../extension/zip.ts";
import { ExtensionFileParams } from "./params.ts";

const tags = ["profiles"];

/** The address at which the caller reached this hub, and which its extension should use. */
function addressOf(c: Context): string {
  return `${isSecure(c) ? "https" : "http"}://${new URL(c.req.url).host}`;
}

const install = createRoute({
  method: "get",
  path: "/profiles/extension/install",
  access: "view",
  tags,
  operationId: "getExtensionInstall",
  summary: "How to install the cookie-sync extension",
  description: "A page for people.",
  responses: {
    200: { description: "The page", content: { "text/html": { schema: z.string() } } },
  },
});

const zip = createRoute({
  method: "get",
  path: "/profiles/extension.zip",
  access: "view",
  tags,
  operationId: "getExtensionZip",
  summary: "The cookie-sync extension as a zip",
  description: "It contains the address of this hub.",
  responses: { 200: bytes("The archive") },
});

const file = createRoute({
  method: "get",
  path: "/profiles/extension/files/{name}",
  access: "view",
  tags,
  operationId: "getExtensionFile",
  summary: "A file of the unpacked cookie-sync extension",
  description: "As it is in the zip.",
  request: { params: ExtensionFileParams },
  responses: { 200: bytes("The file"), ...fails(404) },
});

/** The cookie-sync extension (rules/hosts#cookie-sync-extension). Its pages run in the person's own browser, never here. */
export function extensionRoutes() {
  const headers = { "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff" };
  return newApp()
    .openapi(install, (c) => c.html(installPage(addressOf(c)), 200, headers))
    .openapi(zip, async (c) =>
      streamed(
        c.body(await extensionZip(addressOf(c)), 200, {
          ...headers,
          "Content-Type": "application/zip",
          "Content-Disposition": contentDisposition("flotilla-cookie-sync.zip", "attachment"),
        }),
      ),
    )
    .openapi(file, (c) => {
      const found = extensionFile(addressOf(c), c.req.valid("param").name);
      if (!found) throw notFound("file");
      return streamed(
        c.body(found.text, 200, {
          ...headers,
          "Content-Type": found.type,
          // If the browser displayed them, its pages would run as scripts of this hub.
          "Content-Disposition": contentDisposition(found.name, "attachment"),
        }),
      );
    });
}
