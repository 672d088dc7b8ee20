import { fetchDirect } from "#hub/platform/cluster/fetch-direct.ts";
import { withDeadline } from "#shared/kit/clock.ts";
import { AppError, errorMessage } from "#shared/kit/errors.ts";
import { CDP_CLIENT_HEADER, writeCdpClient } from "#shared/protocol/cdp-client.ts";
import { MAX_ACTIONS_AT_ONCE, WEBDRIVER } from "#shared/protocol/limits.ts";
import { WebDriverError } from "#shared/protocol/webdriver-error.ts";
import type { FleetContext } from "../context.ts";
import { type HubSession, SessionOver } from "../sessions/hub-session.ts";
import { bridgeOf, touchSession } from "../sessions/registry.ts";

export interface DriverCall {
  method: string;
  /** Below the session's `webdriver`; empty for the start of one. */
  path: string;
  body: Uint8Array | string | null;
  /** Who asks, for people. */
  by: string;
  /** Aborts when the client has gone. */
  signal: AbortSignal;
}

/** Longer than the worker's own deadline: the worker should be the one that says what was too slow. */
const GRACE_MS = 5_000;
/** Between two chunks of an answer. */
const STALL_MS = 60_000;

/**
 * Asks the chromedriver of the session, at its worker's bridge, and answers as it does. A command counts as an action of the
 * session.
 * @throws WebDriverError when the worker cannot be reached, or the session ends before the answer
 */
export async function askDriver(
  ctx: Pick<FleetContext, "clock">,
  session: HubSession,
  { method, path, body, by, signal }: DriverCall,
): Promise<Response> {
  if (session.calls >= MAX_ACTIONS_AT_ONCE)
    throw new WebDriverError(
      "unknown error",
      `${MAX_ACTIONS_AT_ONCE} commands of this session are running already`,
    );
  const { base, token } = bridgeOf(session);
  const late = new AbortController();
  const over = new AbortController();
  const limit_ms = WEBDRIVER.call_ms + GRACE_MS;
  void ctx.clock.sleep(limit_ms, over.signal).then(() => {
    if (!over.signal.aborted) late.abort();
  });
  touchSession(ctx, session);
  session.actions += 1;
  session.calls += 1;
  try {
    const answer = await fetchDirect(
      `${base}/sessions/${session.session_id}/webdriver${path === "" ? "" : `/${path}`}`,
      {
        method,
        headers: {
          Authorization: `Bearer ${token}`,
          "Content-Type": "application/json",
          [CDP_CLIENT_HEADER]: writeCdpClient(by),
        },
        redirect: "error",
        signal: AbortSignal.any([session.ended, late.signal, signal]),
        ...(body !== null && { body }),
      },
    );
    return bounded(ctx, answer);
  } catch (err) {
    throw whyNot(session, late.signal.aborted, err);
  } finally {
    over.abort();
    session.calls -= 1;
    touchSession(ctx, session);
  }
}

function whyNot(session: HubSession, late: boolean, err: unknown): Error {
  const { ended, link } = session;
  if (ended.aborted) {
    const why = ended.reason instanceof SessionOver ? ended.reason.message : "it was ended";
    return new WebDriverError("invalid session id", `the session has ended: ${why}`);
  }
  if (late) return new WebDriverError("timeout", `worker ${link.worker_id} does not answer`);
  if (err instanceof AppError) return err;
  const reason = `worker ${link.worker_id} cannot be reached: ${errorMessage(err)}`;
  return new WebDriverError("unknown error", reason, { cause: err });
}

/** The same answer with a deadline for each chunk of it; how slowly the client takes it does not matter. */
function bounded({ clock }: Pick<FleetContext, "clock">, answer: Response): Response {
  const { status, body } = answer;
  const headers = {
    "Content-Type": "application/json; charset=utf-8",
    "Cache-Control": "no-cache",
  };
  const reader = body?.getReader();
  if (!reader) return new Response(null, { status, headers });
  const read = new ReadableStream<Uint8Array>({
    pull: async (to) => {
      const next = reader.read();
      const { done, value } = await withDeadline("the worker", STALL_MS, next, clock);
      if (done) to.close();
      else to.enqueue(value);
    },
    cancel: (why) => reader.cancel(why),
  });
  return new Response(read, { status, headers });
}
