import { fetchDirect } from "#hub/platform/cluster/fetch-direct.ts";
import { noticing } from "#hub/platform/cluster/noticing.ts";
import { withDeadline } from "#shared/kit/clock.ts";
import { AppError, errorMessage, notFound } from "#shared/kit/errors.ts";
import type { FleetContext } from "../context.ts";
import { type HubSession, SessionOver } from "./hub-session.ts";
import { bridgeOf } from "./registry.ts";

/** How long a worker's bridge may take to begin its answer, and then between two chunks of the body. */
const ANSWER_MS = 15_000;
const STALL_MS = 30_000;

export interface BridgeRequest {
  method?: "GET" | "PUT" | "DELETE";
  headers?: Record<string, string>;
  body?: ReadableStream<Uint8Array>;
  /** Aborts when the client has gone. */
  signal?: AbortSignal;
}

/**
 * Asks the session's worker for bulk data at `/sessions/{sid}/<path>` of its bridge. Does not read the body.
 * @throws AppError not_found for what is not there, relay_failed (502) when the bridge cannot be reached or refuses.
 */
export async function askBridge(
  ctx: Pick<FleetContext, "clock">,
  session: HubSession,
  path: string,
  request: BridgeRequest = {},
): Promise<Response> {
  const { base, token } = bridgeOf(session);
  const { method = "GET", headers = {}, body, signal } = request;
  const stop = new AbortController();
  const signals = [session.ended, stop.signal, ...(signal ? [signal] : [])];
  const watch = watchdog(ctx, body ? STALL_MS : ANSWER_MS, () => stop.abort());
  let response: Response;
  try {
    response = await fetchDirect(`${base}/sessions/${session.session_id}/${path}`, {
      method,
      headers: { ...headers, Authorization: `Bearer ${token}` },
      redirect: "error",
      signal: AbortSignal.any(signals),
      ...(body ? { body: body.pipeThrough(noticing(watch.fed)) } : {}),
    });
  } catch (err) {
    watch.stop();
    if (session.ended.aborted) throw endedError(session);
    const reason = stop.signal.aborted ? "it does not answer" : errorMessage(err);
    throw new AppError("relay_failed", `worker ${session.link.worker_id} cannot be reached`, {
      cause: reason,
    });
  }
  watch.stop();
  if (response.ok) return withDeadlines(ctx, response, stop);
  await response.body?.cancel().catch(() => {});
  if (response.status === 404) throw notFound(path.startsWith("files/") ? "file" : "session data");
  if (response.status === 413)
    throw new AppError("too_large", "the worker has no room for the file");
  const { worker_id } = session.link;
  throw new AppError("relay_failed", `worker ${worker_id} answered ${response.status}`);
}

const endedError = ({ ended }: HubSession): AppError =>
  ended.reason instanceof SessionOver && ended.reason.lost
    ? new AppError("relay_failed", ended.reason.message)
    : notFound("session");

interface Watchdog {
  fed(): void;
  stop(): void;
}

/** Calls `bark` once when nothing has fed it for `ms`. */
function watchdog(ctx: Pick<FleetContext, "clock">, ms: number, bark: () => void): Watchdog {
  const over = new AbortController();
  let last = ctx.clock.monotonic();
  const watch = async () => {
    while (!over.signal.aborted) {
      const left = last + ms - ctx.clock.monotonic();
      if (left <= 0) return bark();
      await ctx.clock.sleep(left, over.signal);
    }
  };
  void watch();
  return {
    fed: () => {
      last = ctx.clock.monotonic();
    },
    stop: () => over.abort(),
  };
}

/** The same answer with a deadline for each chunk of its body; how slowly the reader takes it does not matter. */
function withDeadlines(
  ctx: Pick<FleetContext, "clock">,
  response: Response,
  stop: AbortController,
): Response {
  if (response.body === null) return response;
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>({
    pull: async (to) => {
      try {
        const { done, value } = await withDeadline(
          "the bridge",
          STALL_MS,
          reader.read(),
          ctx.clock,
        );
        if (done) to.close();
        else to.enqueue(value);
      } catch (err) {
        stop.abort();
        throw err;
      }
    },
    cancel: (why) => reader.cancel(why),
  });
  return new Response(body, response);
}

/** The JSON text of a result that was too large for the link. */
export async function readBlob(
  ctx: Pick<FleetContext, "clock">,
  session: HubSession,
  id: string,
): Promise<string> {
  const response = await askBridge(ctx, session, `blobs/${encodeURIComponent(id)}`);
  return response.text();
}
