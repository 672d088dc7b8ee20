import { asciiUrl } from "#shared/kit/ascii-url.ts";
import { AppError } from "#shared/kit/errors.ts";
import { ONE_SHOT } from "#shared/protocol/limits.ts";
import {
  browserOptionsOfCall,
  type OneShotCall,
  type OneShotKind,
  OneShotResult,
} from "#shared/protocol/schema/one-shot.ts";
import { CreateSession } from "#shared/protocol/schema/session.ts";
import type { FleetContext } from "../context.ts";
import { askBridge } from "./bridge.ts";
import { callSession } from "./calls.ts";
import { endSession } from "./end.ts";
import type { HubSession } from "./hub-session.ts";
import type { SessionEndContext } from "./session-contexts.ts";
import { untilTaken } from "./until-taken.ts";

/** A call that opens a page, answers what is in it and leaves nothing behind (rules/one-shot-calls). */
export interface OneShot {
  kind: OneShotKind;
  call: OneShotCall;
  /** The answer is JSON, whatever else it could be. */
  as_json: boolean;
  /** A job has opened the page in the session that it left. */
  job?: { job_id: string; http_status: number | null };
}

/** How long a large answer may take on its way to the caller. */
const TAKE_S = 120;

/**
 * The session in which it happens: nothing of it is recorded, traced or kept, and its profile is empty, so that all that
 * its opening takes is a lane, a look at its browser and Playwright's connection.
 */
export function sessionFor({ kind, call }: OneShot): CreateSession {
  const { viewport, egress, proxy, worker_id, dialog_policy } = call;
  const prints = kind === "pdf" || ("formats" in call && call.formats.includes("pdf"));
  const ttl_s = Math.ceil(call.timeout_s) + TAKE_S;
  const size = viewport ? { width: viewport.width, height: viewport.height } : null;
  return CreateSession.parse({
    headless: call.headless ?? prints,
    viewport: size,
    ...browserOptionsOfCall(call),
    dialog_policy,
    egress,
    proxy,
    worker_id,
    record: "off",
    idle_ttl_s: ttl_s,
    ttl_s,
  });
}

/** What the worker is told of it; the rest was for the hub. */
const argsOf = ({ kind, call, as_json, job }: OneShot): Record<string, unknown> => {
  const { egress: _egress, proxy: _proxy, worker_id: _worker, as_job: _job, ...rest } = call;
  // Its session has been told what the page sees of the browser.
  const told = Object.keys(browserOptionsOfCall(call));
  const page = Object.fromEntries(Object.entries(rest).filter(([name]) => !told.includes(name)));
  const wish = { kind, as_json, call: page };
  return job ? { ...wish, is_open: { status: job.http_status } } : wish;
};

/**
 * Does the work in a session that was opened for it, and ends that when its answer has been taken, or its caller has
 * gone.
 * @throws AppError as `callSession`; relay_failed when the browser ended meanwhile.
 */
export async function answerOneShot(
  ctx: SessionEndContext & Pick<FleetContext, "session_calls" | "stopping">,
  session: HubSession,
  one_shot: OneShot,
  signal: AbortSignal,
): Promise<Response> {
  const end = (reason: string) =>
    void endSession(ctx, session, reason).catch((err) =>
      ctx.log.error({ session_id: session.session_id, err }, "a one-shot call was not ended"),
    );
  const gone = () => end("its caller has gone");
  signal.addEventListener("abort", gone, { once: true });
  let is_read_later = false;
  try {
    if (signal.aborted) gone();
    const result = await resultOf(ctx, session, one_shot);
    const headers = headersOf(session, result);
    if (one_shot.job) headers.set(JOB_HEADER, one_shot.job.job_id);
    if (result.blob === undefined) return new Response(bodyOf(result), { headers });
    const at = `blobs/${encodeURIComponent(result.blob)}`;
    const { body } = await askBridge(ctx, session, at, { signal });
    if (body === null) return new Response(null, { headers });
    is_read_later = true;
    // A job leaves its browser for a minute in which nobody uses it.
    session.idle_ttl_ms = null;
    const taking = { clock: ctx.clock, signal, most_ms: TAKE_S * 1_000, end };
    return new Response(untilTaken(body, taking), { headers });
  } catch (err) {
    if (signal.aborted) throw new AppError("unavailable", "the client has gone");
    if (err instanceof AppError && err.kind === "not_found")
      throw new AppError("relay_failed", "the browser ended before it had answered");
    throw err;
  } finally {
    signal.removeEventListener("abort", gone);
    if (!is_read_later) end("it was answered");
  }
}

async function resultOf(
  ctx: Pick<FleetContext, "session_calls" | "clock" | "stopping" | "meters">,
  session: HubSession,
  one_shot: OneShot,
): Promise<OneShotResult> {
  const { result } = await callSession(ctx, session, {
    action: "one_shot",
    by: "api",
    args: argsOf(one_shot),
    timeout_ms: one_shot.call.timeout_s * 1_000,
  });
  const read = OneShotResult.safeParse(result);
  if (!read.success || read.data.size > ONE_SHOT.max_bytes || !TYPES.test(read.data.mime))
    throw new AppError("relay_failed", "the worker's answer makes no sense");
  return read.data;
}

/** What a worker may call its answer: it comes from where the API is. */
const TYPES =
  /^(image\/(png|jpeg|webp)|application\/(pdf|json)|text\/(html|markdown); charset=utf-8)$/;

const bodyOf = ({ text, base64 }: OneShotResult): string | Uint8Array<ArrayBuffer> =>
  text ?? Uint8Array.from(Buffer.from(base64 ?? "", "base64"));

/** On the answer to a call that was a job too. */
const JOB_HEADER = "Flotilla-Job";

/** No more than routers take. */
const MAX_URL_HEADER = 4_096;

/** The page is a stranger's: nobody's browser may run it with the hub's origin. */
function headersOf(session: HubSession, { mime, status }: OneShotResult): Headers {
  const headers = new Headers({
    "Content-Type": mime,
    "Cache-Control": "no-store",
    "Content-Security-Policy": "sandbox",
    "X-Content-Type-Options": "nosniff",
    "X-Response-URL": asciiUrl(session.url).slice(0, MAX_URL_HEADER),
  });
  if (status !== null) headers.set("X-Response-Code", String(status));
  return headers;
}
