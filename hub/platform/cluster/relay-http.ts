import { type Clock, withDeadline } from "#shared/kit/clock.ts";
import { AppError, errorMessage } from "#shared/kit/errors.ts";
import { hubTls } from "#shared/protocol/trust.ts";
import type { ClusterContext } from "../context.ts";
import { placeOf } from "../http/byte-stream.ts";
import { fetchDirect } from "./fetch-direct.ts";
import { findHub, type HubEntry } from "./hubs.ts";
import { noticing } from "./noticing.ts";
import { endToEnd } from "./relay-headers.ts";
import { relayMark } from "./relay-mark.ts";

/** A call as it arrived, for another hub to answer. */
export interface PassedCall {
  method: string;
  /** With the query. */
  path: string;
  headers: Headers;
  body: ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer> | null;
  /** Aborts when the client has gone. */
  signal: AbortSignal;
  /** How long nothing may happen: no chunk of the body taken and, after it, no answer begun. */
  answer_ms: number;
}

/** Bun keeps 256 calls in flight and makes the others wait; some are needed for the workers' bridges. */
const MAX_PASSED_ON = 200;
/** While a call has no answer, check whether its hub is alive: soon after it began, then this often. */
const FIRST_LOOK_MS = 2_000;
const LOOK_MS = 15_000;
/** The kernel of a hub that is too busy to answer still accepts connections. */
const CONNECT_MS = 3_000;
/** Between two chunks of an answer. */
const STALL_MS = 60_000;
/** Answers up to this size are read whole, so one that breaks off becomes a 502. */
const SMALL_BYTES = 256 * 1024;

const gone = (hub: HubEntry, cause?: unknown): AppError =>
  new AppError("relay_failed", `hub ${hub.hub_id} cannot be reached`, { cause });

/**
 * Passes a call on to the hub that can answer it, its body streamed in both directions (rules/cluster#calls-are-passed-on).
 * The Host stays what the client asked for: addresses in answers and checks of origins are those of the router.
 * @throws AppError relay_failed (502) when that hub cannot be reached or breaks off before its answer, timed_out (504)
 *   when it is silent for `answer_ms`, unavailable when too many calls are on their way.
 */
export async function passOn(
  ctx: ClusterContext,
  hub: HubEntry,
  { method, path, headers, body, signal, answer_ms }: PassedCall,
): Promise<Response> {
  if (ctx.relays.calls >= MAX_PASSED_ON)
    throw new AppError("unavailable", "too many calls are being passed on", {
      headers: { "Retry-After": "1" },
    });
  ctx.relays.calls += 1;
  const stop = new AbortController();
  const watch = watchAnswer(ctx, hub, answer_ms, stop);
  const done = once(() => {
    ctx.relays.calls -= 1;
  });
  try {
    const response = await fetchDirect(hub.url + path, {
      method,
      headers: passedHeaders(ctx, headers),
      body: body instanceof ReadableStream ? body.pipeThrough(noticing(watch.fed)) : body,
      redirect: "manual",
      decompress: false,
      signal: AbortSignal.any([signal, stop.signal]),
      ...hubTls(),
    });
    const answer = await answerOf(ctx, response, stop, done);
    ctx.log.debug({ hub: hub.hub_id, method, status: answer.status }, "call passed on");
    return answer;
  } catch (err) {
    done();
    if (signal.aborted) throw new AppError("unavailable", "the client has gone", { cause: err });
    const failed = stop.signal.reason instanceof AppError ? stop.signal.reason : gone(hub, err);
    ctx.log.warn({ hub: hub.hub_id, err: errorMessage(err) }, failed.message);
    throw failed;
  } finally {
    watch.stop();
  }
}

function passedHeaders(ctx: ClusterContext, headers: Headers): Headers {
  const out = endToEnd(headers);
  for (const [name, value] of Object.entries(relayMark(ctx))) out.set(name, value);
  // Otherwise the client that makes the call would ask for an encoding that its caller may not understand.
  if (!out.has("accept-encoding")) out.set("accept-encoding", "identity");
  return out;
}

/** The other hub's answer as this hub's; `done` is called when its body has ended, in whatever way. */
async function answerOf(
  ctx: ClusterContext,
  response: Response,
  stop: AbortController,
  done: () => void,
): Promise<Response> {
  // The new answer has its own length.
  const head = { status: response.status, headers: endToEnd(response.headers, "content-length") };
  const length = Number(response.headers.get("content-length") ?? Number.NaN);
  if (response.body === null || length <= SMALL_BYTES) {
    const bytes = await withDeadline("the answer", STALL_MS, response.arrayBuffer(), ctx.clock);
    done();
    return new Response(bytes.byteLength === 0 ? null : bytes, head);
  }
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>({
    pull: async (to) => {
      try {
        const read = await withDeadline("the other hub", STALL_MS, reader.read(), ctx.clock);
        if (!read.done) return to.enqueue(read.value);
        done();
        to.close();
      } catch (err) {
        done();
        stop.abort();
        throw err;
      }
    },
    cancel: (why) => {
      done();
      return reader.cancel(why);
    },
  });
  return new Response(body, head);
}

interface AnswerWatch {
  /** A chunk of the body was taken. */
  fed(): void;
  stop(): void;
}

/** Aborts `stop` with the error for the answer when nothing happens for `answer_ms` or the hub is gone. */
function watchAnswer(
  ctx: ClusterContext,
  hub: HubEntry,
  answer_ms: number,
  stop: AbortController,
): AnswerWatch {
  const over = new AbortController();
  let last = ctx.clock.monotonic();
  const watch = async () => {
    for (let pause = FIRST_LOOK_MS; ; pause = LOOK_MS) {
      const left = last + answer_ms - ctx.clock.monotonic();
      if (left <= 0)
        return stop.abort(
          new AppError(
            "timed_out",
            `hub ${hub.hub_id} did not answer within ${answer_ms / 1_000} s`,
          ),
        );
      await ctx.clock.sleep(Math.min(left, pause), over.signal);
      if (over.signal.aborted) return;
      if (left > pause && !(await isThere(ctx, hub))) return stop.abort(gone(hub));
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

/**
 * Whether the hub is still registered, and reached at the second try at the latest: one cut connection proves nothing.
 */
async function isThere(ctx: ClusterContext, hub: HubEntry): Promise<boolean> {
  if (!(await findHub(ctx, hub.hub_id).catch(() => hub))) return false;
  return (await canConnect(hub, ctx.clock)) || (await canConnect(hub, ctx.clock));
}

async function canConnect({ url }: HubEntry, clock: Clock): Promise<boolean> {
  const { hostname, port } = placeOf(url);
  const connecting = Bun.connect({ hostname, port, socket: { data: () => {} } });
  const end = connecting.then((socket) => void socket.end());
  return withDeadline("a connection", CONNECT_MS, end, clock).then(
    () => true,
    () => false,
  );
}

function once(run: () => void): () => void {
  let ran = false;
  return () => {
    if (ran) return;
    ran = true;
    run();
  };
}
