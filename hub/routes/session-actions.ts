import { z } from "@hono/zod-openapi";
import type { Context, MiddlewareHandler } from "hono";
import { AppError, badRequest, invalid } from "#shared/errors.ts";
import { MAX_INPUT_FILES_BYTES } from "#shared/limits.ts";
import {
  ActionFailure,
  ActionReply,
  type InputFile,
  Picture,
  SESSION_ACTIONS,
  type SessionActionArgs,
  type SessionActionName,
} from "#shared/schema/session.ts";
import type { HubContext } from "../context.ts";
import type { HttpEnv } from "../http/env.ts";
import { jsonBodyLimit } from "../http/guards.ts";
import { isMultipart, readForm } from "../http/multipart.ts";
import { newApp, validationError } from "../http/new-app.ts";
import { fails } from "../http/openapi-parts.ts";
import { actOn, checkInputFiles } from "../sessions/act.ts";
import { askBridge } from "../sessions/bridge.ts";
import { resultOf } from "../sessions/calls.ts";
import { requireSession } from "../sessions/registry.ts";
import type { HubSession } from "../sessions/types.ts";
import { dropUploads, putUpload } from "../sessions/uploads.ts";
import { idempotent } from "./idempotent.ts";
import { IdempotencyHeader, SessionParams } from "./params.ts";
import { thisSession } from "./sessions.ts";

const NAMES = Object.keys(SESSION_ACTIONS) as SessionActionName[];
/** Files of one form; as many as the JSON form takes. */
const MAX_FILES = 100;

const RAW = { type: "string", format: "binary" } as const;
const FilesForm = z
  .object({
    selector: z.string(),
    timeout_s: z.string().optional(),
    files: z.array(z.string().openapi({ format: "binary" })),
  })
  .openapi("FilesForm");

type Outcome = Awaited<ReturnType<typeof actOn>>;

/** Describes one action in /openapi.json. */
const describe = (action: SessionActionName) => ({
  method: "post" as const,
  path: `/sessions/{sid}/${action}`,
  tags: ["session actions"],
  summary: SUMMARIES[action],
  request: {
    params: SessionParams,
    headers: IdempotencyHeader,
    body: {
      required: !SESSION_ACTIONS[action].safeParse({}).success,
      content: {
        "application/json": { schema: SESSION_ACTIONS[action] },
        ...(action === "set_input_files" ? { "multipart/form-data": { schema: FilesForm } } : {}),
      },
    },
  },
  responses: {
    200: {
      description: isPicture(action) ? "Done; the raw bytes when Accept asks for them" : "Done",
      content: {
        "application/json": { schema: ActionReply },
        ...(isPicture(action)
          ? { "image/*": { schema: RAW }, "application/pdf": { schema: RAW } }
          : {}),
      },
    },
    ...fails(400, 404, 409, 413, 415, 502, 503, 504),
    422: {
      description: "A field breaks a rule, or the page refused the action: then with {error}",
      content: { "application/json": { schema: ActionFailure } },
    },
  },
});

const SUMMARIES: Record<SessionActionName, string> = {
  navigate: "Go to a URL",
  click: "Click an element, or a point of the page",
  fill: "Set the text of a field",
  type: "Send keys, one by one",
  press: "Press one key or a combination",
  hover: "Move the pointer over an element",
  select_option: "Select options of a list",
  check: "Tick a checkbox",
  uncheck: "Untick a checkbox",
  scroll: "Scroll by pixels, or to an element",
  wait: "Wait for an element, a load state or a time",
  evaluate: "Run JavaScript in the page",
  set_input_files: "Give files to an input; up to 100 MB as multipart/form-data",
  screenshot: "Take a picture of the page or an element",
  pdf: "Print the page (headless sessions)",
  content: "Read the HTML",
  text: "Read the visible text",
  markdown: "Read the page as Markdown",
  links: "List the links",
  back: "Go back",
  forward: "Go forward",
  reload: "Reload",
  tabs: "List the tabs",
  tab: "Open, close or select a tab",
  keepalive: "Count as activity; may set the idle TTL",
  recipe: "Run the actions of a recipe",
};

const isPicture = (action: string): boolean => action === "screenshot" || action === "pdf";

/** Whether the client asks for the picture itself and not for JSON. */
const wantsRaw = (c: Context, action: string): boolean =>
  isPicture(action) &&
  /\b(image\/|application\/pdf)/i.test(c.req.header("accept") ?? "") &&
  !/\bjson\b/i.test(c.req.header("accept") ?? "");

/** POST /sessions/{sid}/<action> (fleet spec §4.2, design/api.md). */
export function sessionActionRoutes(ctx: HubContext) {
  const app = newApp();
  const once = idempotent(ctx);
  const live = thisSession(ctx);
  for (const action of NAMES) {
    app.openAPIRegistry.registerPath(describe(action));
    const unlessStreamed =
      (inner: MiddlewareHandler<HttpEnv>): MiddlewareHandler<HttpEnv> =>
      (c, next) =>
        streams(c, action) ? next() : inner(c, next);
    app.post(
      `/sessions/:sid/${action}`,
      unlessStreamed(jsonBodyLimit),
      unlessStreamed(once),
      live,
      async (c) => {
        const session = requireSession(ctx, c.req.param("sid"));
        if (action === "set_input_files" && isMultipart(c))
          return answer(ctx, session, await setStreamedFiles(ctx, c, session));
        const args = await argsOf(c, action);
        if (action === "set_input_files")
          checkInputFiles(args as SessionActionArgs<"set_input_files">);
        // The call has a deadline of its own; Bun would cut a quiet connection before it.
        c.env.server?.timeout(c.req.raw, 0);
        const outcome = await actOn(ctx, session, action, args);
        return wantsRaw(c, action)
          ? rawAnswer(ctx, session, outcome)
          : answer(ctx, session, outcome);
      },
    );
  }
  return app;
}

/** Calls whose body or answer is not kept for a repetition. @throws AppError invalid when one has an Idempotency-Key. */
function streams(c: Context, action: string): boolean {
  const form = action === "set_input_files" && isMultipart(c);
  if (form && c.req.header("idempotency-key") !== undefined)
    throw invalid(["header", "Idempotency-Key"], "cannot go with multipart/form-data");
  return form || wantsRaw(c, action);
}

async function argsOf<A extends SessionActionName>(
  c: Context,
  action: A,
): Promise<SessionActionArgs<A>> {
  const text = await c.req.text();
  const type = c.req.header("content-type");
  if (text !== "" && !/^application\/([a-z.-]+\+)?json\b/i.test(type ?? ""))
    throw new AppError("unsupported_media", "content-type must be application/json");
  let raw: unknown;
  try {
    raw = text === "" ? {} : JSON.parse(text);
  } catch {
    throw badRequest("body is not valid JSON");
  }
  return parseArgs(action, raw);
}

function parseArgs<A extends SessionActionName>(action: A, raw: unknown): SessionActionArgs<A> {
  const parsed = SESSION_ACTIONS[action].safeParse(raw);
  if (!parsed.success) throw validationError(parsed.error.issues, "body", raw);
  return parsed.data as SessionActionArgs<A>; // that schema's output
}

const replyHead = (session: HubSession, { ms }: Outcome) => ({
  ok: true as const,
  url: session.url,
  title: session.title,
  ms,
});

/** The answer of an action; a large result is passed through from the worker's bridge as it is. */
async function answer(ctx: HubContext, session: HubSession, outcome: Outcome): Promise<Response> {
  const head = replyHead(session, outcome);
  if (outcome.blob === null) return Response.json({ ...head, result: outcome.result ?? null });
  const blob = await askBridge(ctx, session, `blobs/${encodeURIComponent(outcome.blob)}`);
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  void joinInto(writable, `${JSON.stringify(head).slice(0, -1)},"result":`, blob.body, "}");
  return new Response(readable, { headers: { "Content-Type": "application/json" } });
}

async function joinInto(
  to: WritableStream<Uint8Array>,
  before: string,
  body: ReadableStream<Uint8Array> | null,
  after: string,
): Promise<void> {
  const text = new TextEncoder();
  const writer = to.getWriter();
  try {
    await writer.write(text.encode(before));
    if (body) for await (const chunk of body) await writer.write(chunk);
    await writer.write(text.encode(after));
    await writer.close();
  } catch (err) {
    await writer.abort(err).catch(() => {});
  }
}

const RAW_TYPES = ["image/png", "image/jpeg", "image/webp", "application/pdf"];

async function rawAnswer(
  ctx: HubContext,
  session: HubSession,
  outcome: Outcome,
): Promise<Response> {
  const picture = Picture.safeParse(await resultOf(ctx, session, outcome));
  if (!picture.success || !RAW_TYPES.includes(picture.data.mime))
    throw new AppError("relay_failed", "the worker sent no picture");
  return new Response(Buffer.from(picture.data.content_base64, "base64"), {
    headers: { "Content-Type": picture.data.mime, "Cache-Control": "no-store" },
  });
}

/** set_input_files as a form: `selector`, `timeout_s` and files, streamed to the worker and set by one call. */
async function setStreamedFiles(
  ctx: HubContext,
  c: Context,
  session: HubSession,
): Promise<Outcome> {
  const files: InputFile[] = [];
  const limits = { max_bytes: MAX_INPUT_FILES_BYTES, max_files: MAX_FILES };
  try {
    const fields = await readForm(c, limits, async ({ name, mime, body }) => {
      if (Buffer.byteLength(name) > 255)
        throw invalid(["body", "files"], "a file name is too long");
      const upload_id = await putUpload(ctx, session, body, c.req.raw.signal);
      files.push({ name, mime: mime.slice(0, 255), upload_id });
    });
    const { timeout_s, ...rest } = fields;
    const args = parseArgs("set_input_files", {
      ...rest,
      ...(timeout_s === undefined ? {} : { timeout_s: Number(timeout_s) }),
      files,
    });
    return await actOn(ctx, session, "set_input_files", args);
  } catch (err) {
    const ids = files.flatMap(({ upload_id }) => (upload_id === undefined ? [] : [upload_id]));
    await dropUploads(ctx, session, ids);
    throw err;
  }
}
