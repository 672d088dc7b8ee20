import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { getCookie } from "hono/cookie";
import type { Changes } from "#hub/platform/changes.ts";
import { access } from "#hub/platform/http/access.ts";
import { createRoute, describeRoute } from "#hub/platform/http/create-route.ts";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { wantsPage } from "#hub/platform/http/wants-page.ts";
import { notFound } from "#shared/kit/errors.ts";
import { newToken } from "#shared/protocol/ids.ts";
import { appFiles } from "./app-files.ts";
import { changesStream } from "./changes-stream.ts";
import { CHOSEN_COLORS, firstColors } from "./chosen-colors.ts";
import type { AppInfo } from "./client/lib/app-info.ts";
import { type LoginDeps, loginRoutes } from "./login.ts";
import { movedTo } from "./moved.ts";
import { contentPolicy, shellPage } from "./shell.ts";

const index = createRoute({
  method: "get",
  path: "/",
  access: "public",
  tags: ["ui"],
  operationId: "getIndex",
  summary: "The admin UI, or where to go from here",
  description:
    "The app; its pages lie below /ui/. With Accept: application/json a small index of the API.",
  responses: {
    200: {
      description: "The app or the index",
      content: {
        "text/html": { schema: z.string() },
        "application/json": {
          schema: z
            .object({
              name: z.string(),
              version: z.string(),
              links: z.record(z.string(), z.string()),
            })
            .openapi("Index"),
        },
      },
    },
  },
});

const FOR_EVER = "public, max-age=31536000, immutable";

interface UiDeps extends LoginDeps {
  version: string;
  changes: Changes;
}

interface UiOptions {
  /** Whether the server has the browser fleet beside the pipeline. */
  fleet: boolean;
  /** Ends the streams. */
  stopping: AbortSignal;
  /** Where the index links to, besides the API's description. */
  links: Record<string, string>;
}

const wantsJson = (c: Context): boolean =>
  /\bapplication\/json\b/i.test(c.req.header("accept") ?? "") && !wantsPage(c);

/** The admin UI (rules/web-app#where-it-is). Its own files and its page need no token: it asks for one. */
export function uiRoutes(deps: UiDeps, options: UiOptions) {
  const { version, changes, config } = deps;
  const info: AppInfo = { version, mode: config.mode, fleet: options.fleet };
  const links = { docs: "/docs", guide: "/guide", openapi: "/openapi.json", ...options.links };
  const app = newApp();
  const shell = async (c: Context<HttpEnv>) => {
    const nonce = newToken();
    const colors = firstColors(getCookie(c, CHOSEN_COLORS));
    const page = shellPage(await appFiles(), { info, nonce, path: c.req.path, colors });
    return c.html(page, 200, {
      "Content-Security-Policy": contentPolicy(nonce),
      "Referrer-Policy": "no-referrer",
      "Cache-Control": "no-store",
    });
  };

  describeRoute(app, index);
  app.get("/", access(index.rules), async (c) =>
    wantsJson(c) ? c.json({ name: "flotilla", version, links }) : shell(c),
  );

  app.get("/ui/assets/:name", access({ access: "public" }), async (c) => {
    const name = c.req.param("name");
    const file = (await appFiles()).files.find((one) => one.name === name);
    if (file === undefined) throw notFound("file");
    const headers = {
      "Content-Type": file.mime,
      "Cache-Control": FOR_EVER,
      Vary: "Accept-Encoding",
    };
    if (/\bgzip\b/i.test(c.req.header("accept-encoding") ?? ""))
      return c.body(file.gzip, 200, { ...headers, "Content-Encoding": "gzip" });
    return c.body(Bun.gunzipSync(file.gzip), 200, headers);
  });

  app.get("/ui/changes", access({ access: "view" }), changesStream(changes, options.stopping));

  loginRoutes(app, deps);

  app.get("/ui", access({ access: "public" }), (c) => c.redirect("/", 308));
  app.get("/ui/*", access({ access: "public" }), async (c) => {
    const { pathname, search } = new URL(c.req.url);
    const to = movedTo(pathname, search);
    return to === null ? shell(c) : c.redirect(to, 308);
  });
  return app;
}
