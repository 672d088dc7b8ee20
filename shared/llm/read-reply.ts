import type { IncomingMessage } from "node:http";
import { parseJson } from "#shared/kit/json.ts";
import { ChatError } from "./chat-message.ts";
import { createGatherer, type Gathered, reasonOf } from "./gather.ts";
import { createSseReader } from "./sse.ts";

/** On the wire a streamed token takes some 200 bytes. */
const MAX_STREAM_BYTES = 256 * 1024 * 1024;
const MAX_PLAIN_BYTES = 8 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;

/** How much of an answer has been read, for judging a failure. */
export interface Progress {
  /** Called with every piece of the body. */
  onBytes(): void;
  onText(piece: string): void;
}

/**
 * Reads an answer, streamed or plain: some backends answer plain JSON no matter what they were asked for.
 * @throws ChatError bad_answer, too_long, cut_off; what the connection threw while nothing had come
 */
export async function readReply(
  response: IncomingMessage,
  { onBytes, onText }: Progress,
): Promise<Gathered> {
  const gatherer = createGatherer(onText);
  const plain: Buffer[] = [];
  let size = 0;
  let done = false;
  let streamed: boolean | null = null;
  let events = 0;
  let beginning = "";
  const sse = createSseReader((data) => {
    events += 1;
    if (data.trim() === "[DONE]") done = true;
    else if (!done) gatherer.add(parseChunk(data));
  });
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      onBytes();
      if (size === 0) beginning = chunk.subarray(0, 1_000).toString("utf8");
      size += chunk.length;
      streamed ??= isStream(chunk);
      if (streamed === true) sse.push(chunk);
      else plain.push(chunk);
      if (size > (streamed === true ? MAX_STREAM_BYTES : MAX_PLAIN_BYTES))
        throw new ChatError("too_long", `the answer is longer than ${size - 1} bytes`);
      if (done) break;
    }
    if (streamed === true && !done) sse.end();
  } catch (err) {
    // The answer is complete; what went wrong afterwards does not matter.
    if (err instanceof ChatError || gatherer.said.finish_reason === null) throw thrown(err);
  } finally {
    response.destroy();
  }
  if (size === 0) throw new Error("the connection was closed before anything was answered");
  if (streamed !== true) gatherer.add(parsePlain(Buffer.concat(plain).toString("utf8")));
  else if (events === 0)
    throw new ChatError(
      "bad_answer",
      `the answer is neither JSON nor a stream of it: ${reasonOf(beginning)}`,
    );
  else if (!done && gatherer.said.finish_reason === null)
    throw new ChatError("cut_off", "the answer was cut off in the middle");
  return gatherer.said;
}

const thrown = (err: unknown): unknown =>
  err instanceof RangeError ? new ChatError("too_long", err.message) : err;

/** Null while only white space has come. */
function isStream(chunk: Buffer): boolean | null {
  const sign = /\S/.exec(chunk.subarray(0, 1_000).toString("latin1"))?.[0];
  return sign === undefined ? null : sign !== "{" && sign !== "[" && sign !== "<";
}

function parseChunk(data: string): unknown {
  try {
    return parseJson(data);
  } catch {
    throw new ChatError(
      "bad_answer",
      `the stream contains something that is not JSON: ${reasonOf(data)}`,
    );
  }
}

function parsePlain(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw new ChatError("bad_answer", `the answer is not JSON: ${reasonOf(text)}`);
  }
}

/** The beginning of an error's body; whatever is there when it cannot be read to its end. */
export async function readRefusal(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_ERROR_BYTES) break;
    }
  } catch {
    // The status says enough.
  } finally {
    response.destroy();
  }
  return Buffer.concat(chunks).subarray(0, MAX_ERROR_BYTES).toString("utf8");
}
