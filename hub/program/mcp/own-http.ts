import type { Server } from "bun";
import type { Context } from "hono";
import { calledAt } from "#hub/platform/http/called-at.ts";
import type { HttpEnv } from "#hub/platform/http/env.ts";
import type { App } from "#hub/platform/http/new-app.ts";
import type { SocketHandlers } from "#hub/platform/http/socket-handlers.ts";
import { createHttp, type Http } from "#shared/client/http.ts";

/** By what a caller is known. The rest of a call stays behind: above all what says that another hub passed it on. */
const KEPT = ["authorization", "x-admin-password", "cookie", "x-forwarded-proto"];

/**
 * Calls this hub's own routes as whoever makes the call `c`, without a connection: each call is judged by the gate, and
 * recorded, as if it had come from there.
 */
export function ownHttp(c: Context<HttpEnv>, app: Pick<App, "fetch">): Http {
  const address = c.env.server?.requestIP(c.req.raw) ?? null;
  const server = {
    requestIP: () => address,
    timeout: () => {},
    upgrade: () => false,
  } as unknown as Server<SocketHandlers>;
  const headers: Record<string, string> = {};
  for (const name of KEPT) {
    const value = c.req.header(name);
    if (value !== undefined) headers[name] = value;
  }
  return createHttp({
    base_url: calledAt(c, "http"),
    headers,
    fetch: (url, init) => {
      const request = asReceived(new Request(url, init), init);
      return untilAborted(Promise.resolve(app.fetch(request, { server })), request.signal);
    },
  });
}

/** What comes over a connection says how long it is; without that, every guard would read the body anew. */
function asReceived(request: Request, { body }: RequestInit): Request {
  if (typeof body === "string")
    request.headers.set("content-length", String(Buffer.byteLength(body)));
  return request;
}

/** A route in this process does not notice that nobody waits any more: its answer, or the rest of it, is given up. */
async function untilAborted(answering: Promise<Response>, signal: AbortSignal): Promise<Response> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  // One that comes too late is not read.
  const leave = (late: Response) => {
    if (signal.aborted) late.body?.cancel().catch(() => {});
  };
  answering.then(leave, () => {});
  try {
    const { body, status, headers } = await Promise.race([answering, aborted]);
    const piped = body?.pipeThrough(new TransformStream<Uint8Array, Uint8Array>(), { signal });
    return new Response(piped ?? null, { status, headers });
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
