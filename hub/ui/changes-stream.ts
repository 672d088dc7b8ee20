import type { Context } from "hono";
import type { Changes } from "#hub/platform/changes.ts";
import type { HttpEnv } from "#hub/platform/http/env.ts";

/** Below the idle timeout of the server and of routers before it. */
const PING_MS = 15_000;

/**
 * GET /ui/changes: server-sent events `changed` with {topics}, at most one a second: only of this server, so pages also ask
 * from time to time. It belongs to the app and is not part of the API.
 * @param stopping ends the streams
 */
export const changesStream =
  (changes: Changes, stopping: AbortSignal) =>
  (c: Context<HttpEnv>): Response => {
    const { still } = c.var;
    let end = () => {};
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          end = sendChanges(controller, { changes, stopping, still });
        },
        cancel: () => end(),
      },
      { highWaterMark: 16 },
    );
    return c.body(body, 200, {
      "Content-Type": "text/event-stream",
      "Cache-Control": "no-store",
      "X-Accel-Buffering": "no",
    });
  };

interface Sending {
  changes: Changes;
  stopping: AbortSignal;
  /** Whether the caller would still be let in. */
  still: HttpEnv["Variables"]["still"];
}

/** @returns what ends it, once */
function sendChanges(
  controller: ReadableStreamDefaultController<Uint8Array>,
  { changes, stopping, still }: Sending,
): () => void {
  const encoder = new TextEncoder();
  const send = (text: string) => {
    // A client that does not read is sent nothing: the next message has what changed, or the client asks by itself.
    if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(text));
  };
  const over = new AbortController();
  const stop = () => {
    if (over.signal.aborted) return;
    over.abort();
    controller.close();
  };
  const ping = setTimeout(function again() {
    send(": still here\n\n");
    ping.refresh();
    // As for sockets, a caller that is no longer let in receives no further events.
    void still?.().then(
      (holds) => holds || stop(),
      () => {},
    );
  }, PING_MS);
  const unlisten = changes.listen((topics) =>
    send(`event: changed\ndata: ${JSON.stringify({ topics })}\n\n`),
  );
  over.signal.addEventListener("abort", () => {
    clearTimeout(ping);
    unlisten();
  });
  stopping.addEventListener("abort", stop, { signal: over.signal });
  send("retry: 2000\n\n");
  return () => over.abort();
}
