import type { IncomingMessage } from "node:http";
import type { Clock } from "#shared/kit/clock.ts";
import { type GuardedPost, guardedPost } from "#shared/kit/guarded-post.ts";
import type { ResolvedEngine } from "#shared/protocol/schema/engine.ts";
import { bodyOf, type JsonWay, type Without } from "./body.ts";
import { ChatError, type ChatRequest } from "./chat-message.ts";
import type { Gathered } from "./gather.ts";
import { readRefusal, readReply } from "./read-reply.ts";

/** A backend that has begun to answer sends something at least this often. */
const SILENCE_MS = 60_000;

export interface Call {
  engine: ResolvedEngine;
  request: ChatRequest;
  way: JsonWay | null;
  without: Without;
  clock: Clock;
  signal: AbortSignal;
  onText(piece: string): void;
  /** Called with the status of each answer. */
  onStatus(status: number): void;
  resolve?: GuardedPost["resolve"];
}

export type Answered =
  | { said: Gathered }
  | { status: number; text: string; retry_after: string | undefined };

/**
 * One request and its answer.
 * @throws ChatError timeout, cut_off, bad_answer, too_long; RefusedAddress; what `signal` was aborted with; what the network
 * threw before anything came
 */
export async function requestOnce(call: Call): Promise<Answered> {
  const { engine, clock, signal, onText } = call;
  const silent = new AbortController();
  const over = new AbortController();
  const ended = AbortSignal.any([signal, silent.signal]);
  let came = 0;
  let last = 0;
  const watch = async () => {
    while (!over.signal.aborted) {
      const left = last + SILENCE_MS - clock.monotonic();
      if (left <= 0) return silent.abort();
      await clock.sleep(left, over.signal);
    }
  };
  const onBytes = () => {
    last = clock.monotonic();
    came += 1;
    if (came === 1) void watch();
  };
  try {
    const response = await guardedPost({
      url: engine.url,
      headers: { ...engine.headers, accept: "text/event-stream, application/json" },
      body: bodyOf(engine, call.request, call.way, call.without),
      signal: ended,
      resolve: call.resolve,
    });
    const { statusCode: status = 0 } = response;
    call.onStatus(status);
    if (status >= 200 && status <= 299)
      return { said: await untilEnded(response, ended, readReply(response, { onBytes, onText })) };
    const text = await untilEnded(response, ended, readRefusal(response));
    return { status, text, retry_after: response.headers["retry-after"] };
  } catch (err) {
    signal.throwIfAborted();
    if (silent.signal.aborted)
      throw new ChatError("timeout", `it fell silent for ${SILENCE_MS / 1_000} s in its answer`);
    if (came > 0 && !(err instanceof ChatError))
      throw new ChatError("cut_off", "the answer was cut off in the middle");
    throw err;
  } finally {
    over.abort();
  }
}

/** Rejects as soon as `ended` aborts, no matter what the connection does then. */
async function untilEnded<T>(
  response: IncomingMessage,
  ended: AbortSignal,
  reading: Promise<T>,
): Promise<T> {
  const stop = Promise.withResolvers<never>();
  const onAbort = () => {
    stop.reject(ended.reason);
    response.destroy();
  };
  ended.addEventListener("abort", onAbort, { once: true });
  if (ended.aborted) onAbort();
  reading.catch(() => {});
  try {
    return await Promise.race([reading, stop.promise]);
  } finally {
    ended.removeEventListener("abort", onAbort);
  }
}
