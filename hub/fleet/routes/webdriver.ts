import { z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { access } from "#hub/platform/http/access.ts";
import { nameOf } from "#hub/platform/http/caller.ts";
import { createRoute, describeRoute } from "#hub/platform/http/create-route.ts";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import { jsonBodyLimit, jsonLimit } from "#hub/platform/http/guards.ts";
import { jsonText } from "#hub/platform/http/json-text.ts";
import { newApp } from "#hub/platform/http/new-app.ts";
import { parseJson } from "#shared/kit/json.ts";
import { WEBDRIVER } from "#shared/protocol/limits.ts";
import { WebDriverError } from "#shared/protocol/webdriver-error.ts";
import type { FleetContext } from "../context.ts";
import { stoppingOf } from "../links/drain.ts";
import type { FleetCountContext } from "../links/link-contexts.ts";
import { countFleet } from "../links/view.ts";
import { endSession } from "../sessions/end.ts";
import { requireSession } from "../sessions/registry.ts";
import type { SessionEndContext } from "../sessions/session-contexts.ts";
import { askDriver } from "../webdriver/ask-driver.ts";
import { clientActed } from "../webdriver/client-acted.ts";
import { fateOf } from "../webdriver/commands.ts";
import { isInLastWindow } from "../webdriver/last-window.ts";
import { openWebDriver } from "../webdriver/open.ts";
import { SessionParams } from "./params.ts";
import { wasPassedOn } from "./pass-on.ts";

type C = Context<HttpEnv>;

const tags = ["webdriver"];
const Value = z.object({ value: z.unknown() }).openapi("WebDriverValue");
const WebDriverFailure = z
  .object({ value: z.object({ error: z.string(), message: z.string(), stacktrace: z.string() }) })
  .openapi("WebDriverError");
const content = (schema: z.ZodType) => ({ "application/json": { schema } });
const answers = (said: string) => ({
  200: { description: said, content: content(Value) },
  ...Object.fromEntries(
    ([400, 401, 403, 404, 405, 429, 500, 502, 503] as const).map((status) => [
      status,
      { description: "As WebDriver says errors", content: content(WebDriverFailure) },
    ]),
  ),
});
const ALSO = "Also below /wd/hub.";

const open = createRoute({
  method: "post",
  path: "/session",
  access: "operate",
  new_work: true,
  token_in_basic: true,
  changes: ["sessions"],
  tags,
  operationId: "openWebDriverSession",
  summary: "WebDriver: open a session for a Selenium client",
  description:
    "W3C capabilities; `flotilla:options` is the body of POST /sessions. The same wait for a lane. The session ends with " +
    `DELETE, with its last window, and by its usual limits. ${ALSO}`,
  request: {
    body: {
      required: true,
      content: {
        "application/json": {
          schema: z.object({ capabilities: z.record(z.string(), z.unknown()).optional() }),
          example: { capabilities: { alwaysMatch: { browserName: "chrome" } } },
        },
      },
    },
  },
  responses: answers("The session's id, and what its browser can do"),
});
const quit = createRoute({
  method: "delete",
  path: "/session/{sid}",
  access: "operate",
  token_in_basic: true,
  changes: ["sessions"],
  owner: "session",
  tags,
  operationId: "quitWebDriverSession",
  summary: "WebDriver: end the session and its browser",
  description: `As DELETE /sessions/{sid}. ${ALSO}`,
  request: { params: SessionParams },
  responses: answers("Ended"),
});
const CommandParams = SessionParams.extend({
  command: z.string().openapi({ param: { name: "command", in: "path" }, example: "url" }),
});
const COMMANDS = `Those of W3C WebDriver, and some of Chromium's: the rules say which chromedriver is asked. ${ALSO}`;
const commands = { params: CommandParams };
const get = createRoute({
  method: "get",
  path: "/session/{sid}/{command}",
  access: "operate",
  token_in_basic: true,
  of_client: true,
  owner: "session",
  tags,
  operationId: "getWebDriver",
  summary: "WebDriver: a command that reads",
  description: COMMANDS,
  request: commands,
  responses: answers("As WebDriver answers it"),
});
const post = createRoute({
  method: "post",
  path: "/session/{sid}/{command}",
  access: "operate",
  token_in_basic: true,
  of_client: true,
  // Who looks at the session hears of it from its worker.
  changes: [],
  owner: "session",
  tags,
  operationId: "postWebDriver",
  summary: "WebDriver: a command that acts",
  description: COMMANDS,
  request: {
    params: CommandParams,
    body: {
      content: {
        "application/json": {
          schema: z.record(z.string(), z.unknown()),
          example: { url: "https://example.com/" },
        },
      },
    },
  },
  responses: answers("As WebDriver answers it"),
});
const remove = createRoute({
  method: "delete",
  path: "/session/{sid}/{command}",
  access: "operate",
  token_in_basic: true,
  of_client: true,
  changes: [],
  owner: "session",
  tags,
  operationId: "deleteWebDriver",
  summary: "WebDriver: a command that removes",
  description: COMMANDS,
  request: commands,
  responses: answers("As WebDriver answers it"),
});
const status = createRoute({
  method: "get",
  path: "/status",
  access: "public",
  tags,
  operationId: "getWebDriverStatus",
  summary: "WebDriver: can a session be opened?",
  description: `\`ready\` while a worker is there; a new session may have to wait for a lane. ${ALSO}`,
  responses: { 200: { description: "Whether it is ready", content: content(Value) } },
});

/** POST /session, its commands, and GET /status (rules/webdriver). */
export function webDriverRoutes(ctx: FleetContext) {
  const app = newApp();
  for (const route of [open, quit, get, post, remove, status]) describeRoute(app, route);
  app.post("/session", access(open.rules), jsonBodyLimit, async (c) =>
    openWebDriver(ctx, c, { given: await bodyOf(c), passed_on: wasPassedOn(ctx, c) }),
  );
  app.get("/status", access(status.rules), async (c) => c.json({ value: await readiness(ctx) }));
  app.delete("/session/:sid", access(quit.rules), async (c) => {
    const session = requireSession(ctx, c.req.param("sid"));
    await endSession(ctx, session, "its WebDriver client quit");
    return c.json({ value: null });
  });
  app.get("/session/:sid/:command{[^]+}", access(get.rules), (c) => command(ctx, c, null));
  app.delete("/session/:sid/:command{[^]+}", access(remove.rules), (c) => command(ctx, c, null));
  app.post(
    "/session/:sid/:command{[^]+}",
    access(post.rules),
    (c, next) => (FILE.test(c.req.path) ? fileLimit : jsonBodyLimit)(c, next),
    async (c) => command(ctx, c, JSON.stringify(await bodyOf(c))),
  );
  return app;
}

const FILE = /^\/session\/[^/]+\/(se\/)?file$/;
const fileLimit = jsonLimit(WEBDRIVER.file_bytes);

/** @throws WebDriverError for what is not a JSON object */
async function bodyOf(c: C): Promise<unknown> {
  const text = await jsonText(c);
  try {
    // Some clients send nothing where a command has no parameters.
    return text === "" ? {} : parseJson(text ?? "");
  } catch (err) {
    throw new WebDriverError("invalid argument", "the body is not valid JSON", { cause: err });
  }
}

const SEGMENTS = /^\/session\/[^/]+\/(.*)$/s;

async function command(
  ctx: SessionEndContext & Pick<FleetContext, "awaited">,
  c: C,
  body: string | null,
): Promise<Response> {
  const session = requireSession(ctx, c.req.param("sid") ?? "");
  const { method } = c.req;
  const path = SEGMENTS.exec(c.req.path)?.[1] ?? "";
  const fate = fateOf(method, path);
  const named = `${method} ${path.slice(0, 200)}`;
  if (fate === "unknown command" || fate === "unknown method")
    throw new WebDriverError(fate, `${named} is no command that is known here`);
  if (fate === "refused")
    throw new WebDriverError("unsupported operation", `${named} would reach beyond the lane`);
  clientActed(session, c.var.caller.name);
  const asking = { by: nameOf(c.var.caller), signal: c.req.raw.signal };
  if (named === "DELETE window" && (await isInLastWindow(ctx, session, asking))) {
    await endSession(ctx, session, "its WebDriver client closed the last window");
    return c.json({ value: [] });
  }
  const called = { method, path: fate === "file" ? "file" : path, body };
  const answer = await askDriver(ctx, session, { ...called, ...asking });
  c.set("told_in_protocol", true);
  return answer;
}

async function readiness(
  ctx: FleetCountContext & Pick<FleetContext, "draining" | "sessions" | "version">,
): Promise<Record<string, unknown>> {
  const workers = await countFleet(ctx).then(
    (fleet) => fleet.workers,
    () => 0,
  );
  const build = { version: ctx.version };
  if (stoppingOf(ctx) !== null) return { ready: false, message: "the hub is stopping", build };
  if (workers === 0) return { ready: false, message: "no worker is there", build };
  return { ready: true, message: "Flotilla is ready for new sessions", build };
}
