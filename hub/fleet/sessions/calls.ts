import { currentTrace } from "#hub/platform/tracing/current-trace.ts";
import { AppError, notFound } from "#shared/kit/errors.ts";
import { parseJson } from "#shared/kit/json.ts";
import { formatTraceparent } from "#shared/kit/tracing/trace-context.ts";
import { newToken } from "#shared/protocol/ids.ts";
import { ACTION_GRACE_MS, MAX_ACTIONS_AT_ONCE } from "#shared/protocol/limits.ts";
import { BROWSER_STARTING, type SessionReply } from "#shared/protocol/link/messages.ts";
import type { FleetContext } from "../context.ts";
import type { WorkerLink } from "../links/worker-link.ts";
import { readBlob } from "./bridge.ts";
import { type HubSession, SessionOver } from "./hub-session.ts";
import { touchSession } from "./registry.ts";

export interface SessionCall {
  action: string;
  /** Whose action it is; absent for the hub's own calls. */
  by?: "api" | "script";
  args?: Record<string, unknown>;
  timeout_ms: number;
  /** Calls that nobody makes on purpose (a preview, a look at the state) do not keep the session alive. */
  counts_as_activity?: boolean;
}

/**
 * One operation on the session's page, done by its worker (rules/session-actions#calls-and-answers). The answer holds
 * the result or names a blob; `resultOf` reads either.
 * @throws AppError unavailable (503, with Retry-After), relay_failed (502), timed_out (504), not_found (404), or invalid with
 *   `{detail, error}` (422): rules/session-actions#failed-actions.
 */
export async function callSession(
  ctx: Pick<FleetContext, "session_calls" | "clock" | "stopping" | "meters">,
  session: HubSession,
  { action, by, args = {}, timeout_ms, counts_as_activity = true }: SessionCall,
): Promise<SessionReply & { ok: true }> {
  if (session.calls >= MAX_ACTIONS_AT_ONCE)
    throw new AppError(
      "unavailable",
      `${MAX_ACTIONS_AT_ONCE} actions of this session are running already`,
      {
        headers: { "Retry-After": "1" },
      },
    );
  const call_id = newToken();
  if (counts_as_activity) {
    touchSession(ctx, session);
    session.actions += 1;
  }
  session.calls += 1;
  const began = ctx.clock.monotonic();
  let outcome = "error";
  const trace = currentTrace();
  try {
    const reply = await answerTo(ctx, session, {
      type: "HubSessionCall",
      call_id,
      session_id: session.session_id,
      action,
      args,
      timeout_ms: Math.ceil(timeout_ms),
      ...(by !== undefined && { by }),
      ...(trace && { traceparent: formatTraceparent(trace) }),
    });
    if (reply.place) Object.assign(session, reply.place);
    if (!reply.ok) throw failureOf(reply);
    outcome = "ok";
    return { ...reply, ok: true };
  } finally {
    ctx.meters.action.observe({ action, outcome }, (ctx.clock.monotonic() - began) / 1_000);
    session.calls -= 1;
    ctx.session_calls.delete(call_id);
    if (counts_as_activity) touchSession(ctx, session);
  }
}

/** Hands a reply to the call that waits for it; one that is late, or another worker's, is dropped. */
export function sessionReply(
  ctx: Pick<FleetContext, "session_calls">,
  link: WorkerLink,
  reply: SessionReply,
): void {
  const call = ctx.session_calls.get(reply.call_id);
  if (call?.link === link) call.answer(reply);
}

type HubSessionCall = Extract<Parameters<WorkerLink["send"]>[0], { type: "HubSessionCall" }>;

async function answerTo(
  ctx: Pick<FleetContext, "session_calls" | "stopping" | "clock">,
  session: HubSession,
  message: HubSessionCall,
): Promise<SessionReply> {
  const { link, ended } = session;
  const settled = new AbortController();
  const { promise, resolve, reject } = Promise.withResolvers<SessionReply>();
  ctx.session_calls.set(message.call_id, { link, answer: resolve });
  const over = () => reject(overError(ended.reason));
  const stopped = () =>
    reject(new AppError("relay_failed", "the hub is restarting; the action may have been done"));
  ended.addEventListener("abort", over, { once: true });
  ctx.stopping.addEventListener("abort", stopped, { once: true });
  try {
    if (ended.aborted) over();
    else if (!link.send(message))
      reject(new AppError("relay_failed", `worker ${link.worker_id} cannot be reached`));
    void timeUp(ctx, link, message.timeout_ms + ACTION_GRACE_MS, settled.signal).then(() =>
      reject(late(message)),
    );
    return await promise;
  } finally {
    settled.abort();
    ended.removeEventListener("abort", over);
    ctx.stopping.removeEventListener("abort", stopped);
  }
}

/**
 * Time without a socket on the link does not count: the call reaches the worker when it is back, or ends with the link.
 */
async function timeUp(
  { clock }: Pick<FleetContext, "clock">,
  link: WorkerLink,
  ms: number,
  settled: AbortSignal,
): Promise<void> {
  let counted = link.cutMs(clock);
  await clock.sleep(ms, settled);
  for (let more = link.cutMs(clock) - counted; more > 0 || link.cut; ) {
    counted += more;
    await clock.sleep(Math.max(more, LEAST_MORE_MS), settled);
    if (settled.aborted) return;
    more = link.cutMs(clock) - counted;
  }
}

const LEAST_MORE_MS = 100;

const late = ({ action, timeout_ms }: HubSessionCall): AppError =>
  new AppError("timed_out", `${action} did not answer within ${timeout_ms / 1_000} s`);

const overError = (why: unknown): AppError =>
  why instanceof SessionOver && why.lost
    ? new AppError("relay_failed", why.message)
    : notFound("session");

/** A failed action as its caller sees it (rules/session-actions#failed-actions). */
function failureOf({ kind, error }: SessionReply): AppError {
  const detail = error?.message || "the action failed";
  const body = error ? { error } : {};
  if (error?.name === BROWSER_STARTING && kind === "broken")
    return new AppError("unavailable", detail, { body, headers: { "Retry-After": "1" } });
  switch (kind) {
    case "page":
    case "invalid":
      return new AppError("invalid", detail, { body });
    case "timeout":
      return new AppError("timed_out", detail, { body });
    case "gone":
      return notFound("session");
    default:
      return new AppError("relay_failed", detail, { body });
  }
}

/** The result of a reply, read from the worker's bridge when it was too large for the link. */
export async function resultOf(
  ctx: Pick<FleetContext, "clock">,
  session: HubSession,
  { blob, result }: Pick<SessionReply, "blob" | "result">,
): Promise<unknown> {
  if (blob === null) return result;
  return parseJson(await readBlob(ctx, session, blob));
}
