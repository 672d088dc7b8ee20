import { afterEach, describe, expect, test } from "bun:test";
import { systemClock } from "#shared/clock.ts";
import { type ChatOptions, chat } from "#shared/llm/chat.ts";
import type { ChatError, ChatRequest } from "#shared/llm/types.ts";
import type { ResolvedEngine } from "#shared/schema/engine.ts";
import { createFakeClock } from "#test/support/fake-clock.ts";
import { type LlmServer, type LlmServerOptions, startLlmServer } from "#test/support/llm-server.ts";

const KEY = "sk-0123456789abcdef";
let server: LlmServer | null = null;
afterEach(async () => {
  await server?.stop();
  server = null;
});

const start = async (options: LlmServerOptions): Promise<LlmServer> => {
  server = await startLlmServer(options);
  return server;
};
const engine = (more: Partial<ResolvedEngine> = {}): ResolvedEngine => ({
  ...{ slug: "local", kind: "chat", model: "small", timeout_s: 30, supports_tools: false },
  url: server?.completions ?? "http://127.0.0.1:1/v1/chat/completions",
  headers: { authorization: `Bearer ${KEY}` },
  ...more,
});
const question: ChatRequest = { messages: [{ role: "user", content: "what?" }] };
const point = {
  name: "point",
  schema: { type: "object", required: ["x"], properties: { x: { type: "number" } } },
};
const ask = (
  more: Partial<ResolvedEngine> = {},
  request: Partial<ChatRequest> = {},
  options: Partial<ChatOptions> = {},
) =>
  chat(
    engine(more),
    { ...question, ...request },
    { clock: systemClock, signal: new AbortController().signal, ...options },
  );
const failure = async (asked: Promise<unknown>): Promise<ChatError> =>
  asked.then(
    (reply) => Promise.reject(new Error(`answered ${JSON.stringify(reply)}`)),
    (err) => err,
  );

describe("§2.9 a chat with an engine", () => {
  test("is streamed, with the model, the key and the usage", async () => {
    const { requests } = await start({ script: [{ kind: "answer", text: "it is wörld ✓" }] });
    const pieces: string[] = [];
    const reply = await ask(
      {},
      { temperature: 0, max_tokens: 50 },
      { onText: (p) => pieces.push(p) },
    );
    expect(reply).toMatchObject({
      ...{ text: "it is wörld ✓", thinking: null, model: "small", requests: 1 },
      ...{ finish_reason: "stop", usage: { prompt_tokens: 11, completion_tokens: 7 } },
    });
    expect(pieces.join("")).toBe("it is wörld ✓");
    expect(requests[0]).toMatchObject({
      ...{ method: "POST", path: "/v1/chat/completions" },
      headers: { authorization: `Bearer ${KEY}` },
      body: {
        ...{ model: "small", stream: true, stream_options: { include_usage: true } },
        ...{ temperature: 0, max_tokens: 50, messages: question.messages },
      },
    });
  });

  test("an answer of plain JSON, although a stream was asked for, is an answer", async () => {
    await start({ script: [{ kind: "answer", text: "plain", plain: true }] });
    expect(await ask()).toMatchObject({ text: "plain", usage: { completion_tokens: 7 } });
  });

  test("think blocks are no part of the answer, with tags, without the opening one, or in a field of their own", async () => {
    await start({
      script: [
        { kind: "answer", text: "four", think: "two and two" },
        { kind: "answer", text: "two and two\n</think>\nfour" },
        { kind: "answer", text: "four", reasoning: "two and two" },
        {
          kind: "answer",
          text: "four",
          reasoning: "two and two",
          reasoning_field: "reasoning_content",
        },
        { kind: "answer", text: "four", reasoning: "two and two", plain: true },
      ],
    });
    for (let i = 0; i < 5; i += 1)
      expect(await ask({ kind: "reasoning" })).toMatchObject({
        text: "four",
        thinking: "two and two",
      });
  });

  test("with an empty content the answer is in the reasoning", async () => {
    await start({
      script: [
        { kind: "answer", reasoning: "four" },
        { kind: "answer", reasoning: 'so it is {"x": 4}', plain: true },
      ],
    });
    expect(await ask({ kind: "reasoning" })).toMatchObject({ text: "four", thinking: null });
    expect(await ask({}, { schema: point })).toMatchObject({ json: { x: 4 } });
  });

  test("429 with Retry-After and 500 are tried once more, after the time that is asked for", async () => {
    const { received, requests } = await start({
      script: [
        { kind: "status", status: 429, headers: { "retry-after": "5" } },
        { kind: "answer", text: "now" },
        { kind: "status", status: 503 },
        { kind: "answer", text: "up again" },
      ],
    });
    const clock = createFakeClock();
    const late = ask({}, {}, { clock });
    await clock.sleeperIn(5_000);
    expect(requests).toHaveLength(1);
    await clock.advance(5_000);
    expect(await late).toMatchObject({ text: "now", requests: 2, ms: 5_000 });
    const again = ask({}, {}, { clock });
    await received(3);
    await clock.sleeperIn(1_000);
    await clock.advance(1_000);
    expect(await again).toMatchObject({ text: "up again", requests: 2 });
  });

  test("a second 500, and a Retry-After beyond the time left, end it", async () => {
    const { requests } = await start({
      script: [
        {
          kind: "status",
          status: 500,
          headers: { "retry-after": "0" },
          body: { error: { message: `no ${KEY}` } },
        },
        { kind: "status", status: 500 },
        { kind: "status", status: 429, headers: { "retry-after": "31" } },
      ],
    });
    const failed = await failure(ask());
    expect(failed).toMatchObject({ kind: "http_status", status: 500 });
    expect(await failure(ask())).toMatchObject({ kind: "rate_limited", status: 429 });
    expect(requests).toHaveLength(3);
  });

  test("a connection that is cut before the first byte is tried once more, one that is cut later is not", async () => {
    const { requests } = await start({
      script: [
        { kind: "cut", after: 0 },
        { kind: "answer", text: "whole" },
        { kind: "cut", after: 3, text: "one two three four" },
      ],
    });
    expect(await ask()).toMatchObject({ text: "whole", requests: 2 });
    expect(await failure(ask())).toMatchObject({ kind: "cut_off" });
    expect(requests).toHaveLength(3);
  });
});
