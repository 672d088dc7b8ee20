import type { Context, MiddlewareHandler } from "hono";
import { access } from "#hub/platform/http/access.ts";
import { describeRoute } from "#hub/platform/http/create-route.ts";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import { jsonBodyLimit } from "#hub/platform/http/guards.ts";
import { isMultipart } from "#hub/platform/http/multipart.ts";
import { newApp, validationError } from "#hub/platform/http/new-app.ts";
import { AppError } from "#shared/kit/errors.ts";
import {
  SESSION_ACTION_NAMES,
  SESSION_ACTIONS,
  type SessionActionArgs,
  type SessionActionName,
} from "#shared/protocol/actions/session-actions.ts";
import { Picture } from "#shared/protocol/schema/session.ts";
import type { FleetContext } from "../context.ts";
import { actOn, checkInputFiles } from "../sessions/act.ts";
import { askBridge } from "../sessions/bridge.ts";
import { resultOf } from "../sessions/calls.ts";
import type { HubSession } from "../sessions/hub-session.ts";
import { requireSession } from "../sessions/registry.ts";
import { idempotent } from "./idempotent.ts";
import { jsonBody } from "./json-body.ts";
import { describeAction, isPicture } from "./session-action-docs.ts";
import { setStreamedFiles } from "./session-input-files.ts";
import { thisSession } from "./sessions.ts";

type Outcome = Awaited<ReturnType<typeof actOn>>;

/** Whether the client asks for the image itself and not for JSON. */
const wantsRaw = (c: Context, action: SessionActionName): boolean =>
  isPicture(action) &&
  /\b(image\/|application\/pdf)/i.test(c.req.header("accept") ?? "") &&
  !/\bjson\b/i.test(c.req.header("accept") ?? "");

/** POST /sessions/{sid}/<action> (rules/session-actions#calls-and-answers). */
export function sessionActionRoutes(ctx: FleetContext) {
  const app = newApp();
  const once = idempotent(ctx);
  const live = thisSession(ctx);
  for (const action of SESSION_ACTION_NAMES) {
    const route = describeAction(action);
    describeRoute(app, route);
    const takesForm = (c: Context) => action === "set_input_files" && isMultipart(c);
    app.post(
      `/sessions/:sid/${action}`,
      access(route.rules),
      unless(takesForm, jsonBodyLimit),
      unless((c) => takesForm(c) || wantsRaw(c, action), once),
      live,
      async (c) => {
        const session = requireSession(ctx, c.req.param("sid"));
        if (takesForm(c)) return answer(ctx, session, await setStreamedFiles(ctx, c, session));
        const args = await argsOf(c, action);
        if (action === "set_input_files")
          checkInputFiles(args as SessionActionArgs<"set_input_files">);
        // The call has its own deadline; Bun would cut a quiet connection before it.
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

const unless =
  (not: (c: Context) => boolean, inner: MiddlewareHandler<HttpEnv>): MiddlewareHandler<HttpEnv> =>
  (c, next) =>
    not(c) ? next() : inner(c, next);

const argsOf = async <A extends SessionActionName>(
  c: Context,
  action: A,
): Promise<SessionActionArgs<A>> => parseArgs(action, await jsonBody(c));

function parseArgs<A extends SessionActionName>(action: A, raw: unknown): SessionActionArgs<A> {
  const parsed = SESSION_ACTIONS[action].args.safeParse(raw);
  if (!parsed.success) throw validationError(parsed.error.issues, "body", raw);
  return parsed.data as SessionActionArgs<A>; // that schema's output
}

const replyHead = (session: HubSession, { ms }: Outcome) => ({
  ok: true as const,
  url: session.url,
  title: session.title,
  ms,
});

/** The answer of an action; a large result is passed through unchanged from the worker's bridge. */
async function answer(
  ctx: Pick<FleetContext, "clock">,
  session: HubSession,
  outcome: Outcome,
): Promise<Response> {
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
  ctx: Pick<FleetContext, "clock">,
  session: HubSession,
  outcome: Outcome,
): Promise<Response> {
  const picture = Picture.safeParse(await resultOf(ctx, session, outcome));
  if (!picture.success || !RAW_TYPES.includes(picture.data.mime))
    throw new AppError("relay_failed", "the worker sent no screenshot");
  return new Response(Buffer.from(picture.data.content_base64, "base64"), {
    headers: { "Content-Type": picture.data.mime, "Cache-Control": "no-store" },
  });
}
