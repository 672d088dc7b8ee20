import http, { type IncomingMessage, type ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { setDeadline } from "#shared/kit/clock.ts";
import { MAX_JSON_BODY_BYTES, WEBDRIVER } from "#shared/protocol/limits.ts";
import {
  WebDriverError,
  type WebDriverErrorBody,
  webDriverError,
} from "#shared/protocol/webdriver-error.ts";
import type { DriverSession } from "./new-session.ts";

/** An error, which is read here and may quote a page. */
const MAX_READ_BYTES = 1024 * 1024;

interface Answer {
  value?: unknown;
}

/**
 * Passes one command on to chromedriver, and its answer back as it comes.
 * @throws WebDriverError timeout; Error when chromedriver breaks off
 */
export async function forward(
  { base }: DriverSession,
  command: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const late = new AbortController();
  const seconds = WEBDRIVER.call_ms / 1_000;
  const cancel = setDeadline(WEBDRIVER.call_ms, () =>
    late.abort(new WebDriverError("timeout", `chromedriver did not answer within ${seconds} s`)),
  );
  // Nobody waits for the answer of a client that has gone.
  response.once("close", () => late.abort(new Error("the client has gone")));
  try {
    const answer = await ask(`${base}/${command}`, request, late.signal);
    const status = answer.statusCode ?? 500;
    if (status < 400) {
      response.writeHead(status, headersOf(answer));
      return await pipeline(answer, response);
    }
    const body = JSON.parse((await whole(answer)).toString()) as Answer;
    response.writeHead(status, { "Content-Type": "application/json" });
    response.end(JSON.stringify(withoutStack(body)));
  } catch (err) {
    throw late.signal.aborted ? late.signal.reason : err;
  } finally {
    cancel();
  }
}

async function ask(
  url: string,
  request: IncomingMessage,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const body = await whole(request, MAX_JSON_BODY_BYTES);
  const call = http.request(url, {
    method: request.method ?? "GET",
    signal,
    headers: {
      "Content-Type": "application/json",
      "Content-Length": body.length,
    },
  });
  call.once("response", resolve);
  call.once("error", reject);
  call.end(body);
  return promise;
}

/** @throws WebDriverError when it is longer than `most` bytes */
async function whole(message: IncomingMessage, most = MAX_READ_BYTES): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > most) throw new WebDriverError("invalid argument", `at most ${most} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  const { "content-type": type = "application/json", "content-length": length } = headers;
  return {
    "Content-Type": type,
    ...(length !== undefined && { "Content-Length": length }),
  };
}

/** The stack is that of chromedriver itself: its addresses help nobody but who attacks it. */
function withoutStack({ value }: Answer): WebDriverErrorBody {
  const { error, message } = (value ?? {}) as {
    error?: unknown;
    message?: unknown;
  };
  return webDriverError(String(error ?? "unknown error"), String(message ?? "it failed"));
}
