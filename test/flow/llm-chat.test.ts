import { afterEach, describe, expect, test } from "bun:test";
import { systemClock } from "#shared/kit/clock.ts";
import { type ChatOptions, chat } from "#shared/llm/chat.ts";
import type { ChatError, ChatRequest } from "#shared/llm/chat-message.ts";
import type { ResolvedEngine } from "#shared/protocol/schema/engine.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { createQueue } from "#test/support/models/queue.ts";
import {
  type LlmServer,
  type LlmServerOptions,
  startLlmServer,
} from "#test/support/servers/llm-server.ts";

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
  slug: "local",
  kind: "chat",
  model: "small",
  timeout_s: 30,
  supports_tools: false,
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

describe("a chat with an engine (rules/engines#one-retry-of-an-engine)", () => {
  test("is streamed, with the model, the key and the usage", async () => {
    const { requests } = await start({ script: [{ kind: "answer", text: "it is wörld ✓" }] });
    const pieces: string[] = [];
    const reply = await ask(
      {},
      { temperature: 0, max_tokens: 50 },
      { onText: (p) => pieces.push(p) },
    );
    expect(reply).toMatchObject({
      text: "it is wörld ✓",
      thinking: null,
      model: "small",
      requests: 1,
      finish_reason: "stop",
      usage: { prompt_tokens: 11, completion_tokens: 7 },
    });
    expect(pieces.join("")).toBe("it is wörld ✓");
    expect(requests[0]).toMatchObject({
      method: "POST",
      path: "/v1/chat/completions",
      headers: { authorization: `Bearer ${KEY}` },
      body: {
        model: "small",
        stream: true,
        stream_options: { include_usage: true },
        temperature: 0,
        max_tokens: 50,
        messages: question.messages,
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

  test("a key that the backend repeats is told to nobody, neither in an answer nor in an error", async () => {
    await start({
      script: [
        {
          kind: "answer",
          text: `your key is ${KEY}.`,
          pieces: ["your key is sk-0123", "456789ab", "cdef."],
        },
        { kind: "status", status: 401, body: { error: { message: `no such key: ${KEY}` } } },
      ],
    });
    const pieces: string[] = [];
    const reply = await ask({}, {}, { onText: (piece) => pieces.push(piece) });
    expect([reply.text, pieces.join("")]).toEqual(["your key is ***.", "your key is ***."]);
    const failed = await failure(ask());
    expect(failed).toMatchObject({
      kind: "auth",
      status: 401,
      message: "engine local: HTTP 401: no such key: ***",
    });
  });

  test("a slow drip is waited for, and heard piece by piece", async () => {
    const gates = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
    await start({
      script: [{ kind: "answer", pieces: ["one ", "two ", "three"] }],
      gate: async (_request, piece) => gates[piece]?.promise,
    });
    const clock = createFakeClock();
    const heard = createQueue<string>();
    const headers = {};
    const reply = ask({ headers, timeout_s: 600 }, {}, { clock, onText: (p) => heard.push(p) });
    for (const [i, word] of ["one ", "two ", "three"].entries()) {
      // Less than the silence that is put up with, but more than it in all.
      if (i === 0) await clock.sleeperIn(60_000);
      await clock.advance(45_000);
      gates[i + 1]?.resolve();
      expect(await heard.next()).toBe(word);
    }
    expect(await reply).toMatchObject({ text: "one two three", ms: 135_000 });
  });

  test("an engine that falls silent in the middle, and one that never answers, are timeouts", async () => {
    const { received } = await start({
      script: [{ kind: "answer", text: "one two" }, { kind: "silent" }],
      gate: () => new Promise(() => {}),
    });
    const clock = createFakeClock();
    const stuck = failure(ask({ timeout_s: 600 }, {}, { clock }));
    await clock.sleeperIn(60_000);
    await clock.advance(60_000);
    expect(await stuck).toMatchObject({
      kind: "timeout",
      message: expect.stringContaining("silent"),
    });
    await (await received(1)).closed;
    const never = failure(ask({ timeout_s: 7 }, {}, { clock }));
    const request = await received(2);
    await clock.advance(7_000);
    expect(await never).toMatchObject({
      kind: "timeout",
      message: "engine local: no answer within 7 s",
    });
    await request.closed;
    expect(clock.sleepers()).toEqual([]);
  });

  test("a chat that is cancelled hangs up, also while it waits to try again", async () => {
    const { received } = await start({
      script: [
        { kind: "silent" },
        { kind: "status", status: 429, headers: { "retry-after": "20" } },
      ],
    });
    const clock = createFakeClock();
    for (const n of [1, 2]) {
      const stop = new AbortController();
      const cancelled = failure(ask({}, {}, { clock, signal: stop.signal }));
      const request = await received(n);
      if (n === 2) await clock.sleeperIn(20_000);
      stop.abort();
      expect(await cancelled).toMatchObject({ kind: "cancelled", status: null });
      await request.closed;
    }
  });

  test("JSON by a schema is asked for in the strictest way that the backend knows", async () => {
    const answer = { kind: "answer", text: '{"x": 1}', times: 0, as_tool: true } as const;
    const ways = async (refuses: LlmServerOptions["refuses"], supports_tools: boolean) => {
      const { requests, stop } = await start({ script: [answer], refuses });
      expect(await ask({ supports_tools }, { schema: point })).toMatchObject({ json: { x: 1 } });
      await stop();
      return requests.map(({ body }) => [
        body.response_format?.type ?? (body.tools ? "tool" : "prompt"),
        body.messages.at(-1).content.includes("JSON schema"),
      ]);
    };
    expect(await ways([], false)).toEqual([["json_schema", false]]);
    expect(await ways(["json_schema"], true)).toEqual([
      ["json_schema", false],
      ["tool", false],
    ]);
    expect(await ways(["json_schema"], false)).toEqual([
      ["json_schema", false],
      ["json_object", true],
    ]);
    expect((await ways(["json_schema", "tools", "json_object"], true)).at(-1)).toEqual([
      ...["prompt", true],
    ]);
  });

  test("what else a backend does not know is left out, and a prompt that is too long is not sent again", async () => {
    const too_long = { error: { message: "maximum context length is 4096 tokens" } };
    const { requests } = await start({
      script: [
        { kind: "answer", text: "ok" },
        { kind: "status", status: 400, body: too_long },
      ],
      refuses: ["stream_options", "temperature"],
    });
    const reply = await ask({}, { temperature: 1 });
    expect(reply).toMatchObject({ text: "ok", requests: 3, usage: null });
    const { stream_options, temperature } = requests.at(-1)?.body ?? {};
    expect([stream_options, temperature]).toEqual([undefined, undefined]);
    await server?.stop();
    const { requests: long } = await start({
      script: [{ kind: "status", status: 400, times: 0, body: too_long }],
    });
    expect(await failure(ask({}, { schema: point }))).toMatchObject({
      kind: "http_status",
      status: 400,
    });
    expect(long).toHaveLength(1);
  });

  test("malformed JSON is a bad answer that says what was said", async () => {
    await start({
      script: [
        { kind: "answer", text: 'sure: {"x": 1' },
        { kind: "answer", text: '{"y": 1}' },
        { kind: "answer", text: '{"x": 1', finish_reason: "length" },
        { kind: "answer", reasoning: "it may be", finish_reason: "length" },
        { kind: "raw", chunks: ["data: {nonsense\n\n"] },
        { kind: "raw", chunks: ["<html>gateway</html>"], content_type: "text/html" },
        { kind: "raw", chunks: ['{"choices": []}'], content_type: "application/json" },
        { kind: "raw", chunks: ['data: {"error": {"message": "out of memory"}}\n\n'] },
      ],
    });
    const tell = async (request: Partial<ChatRequest> = {}) => {
      const { kind, reply, message } = await failure(ask({}, request));
      return [kind, reply, message.replace("engine local: ", "")];
    };
    const not_json = "the answer is not the JSON asked for";
    const limit = " (it ended at the limit of tokens)";
    expect(await tell({ schema: point })).toEqual(["bad_answer", 'sure: {"x": 1', not_json]);
    expect(await tell({ schema: point })).toEqual(["bad_answer", '{"y": 1}', not_json]);
    expect(await tell({ schema: point })).toEqual(["bad_answer", '{"x": 1', not_json + limit]);
    expect(await tell()).toEqual(["too_long", null, `no answer came${limit}`]);
    expect(await tell()).toEqual([
      "bad_answer",
      null,
      "the stream contains something that is not JSON: {nonsense",
    ]);
    expect(await tell()).toEqual([
      "bad_answer",
      null,
      "the answer is not JSON: <html>gateway</html>",
    ]);
    expect(await tell()).toEqual(["bad_answer", null, "the answer has no choices"]);
    expect(await tell()).toEqual(["bad_answer", null, "the backend failed: out of memory"]);
  });

  test("an answer of more than 1 MB is given up", async () => {
    await start({
      script: [{ kind: "answer", pieces: Array<string>(1_025).fill("x".repeat(1_024)) }],
    });
    expect(await failure(ask())).toMatchObject({ kind: "too_long" });
    const request = await server?.received(1);
    await request?.closed;
  });

  test("pictures go to engines that see, as data URLs; the others get the text alone", async () => {
    const { requests } = await start({ script: [{ kind: "answer", text: "a cat", times: 0 }] });
    const image = { type: "image", mime: "image/png", content_base64: "AAAA" } as const;
    const messages: ChatRequest["messages"] = [
      { role: "user", content: [{ type: "text", text: "what is it?" }, image] },
    ];
    await ask({ kind: "vision-chat" }, { messages });
    await ask({ kind: "chat" }, { messages });
    expect(requests.map(({ body }) => body.messages[0].content)).toEqual([
      [
        { type: "text", text: "what is it?" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
      ],
      "what is it?",
    ]);
  });

  test("link-local and metadata addresses are refused where they are connected to (rules/egress#calls-of-the-program)", async () => {
    await start({ script: [{ kind: "answer", text: "never" }] });
    for (const url of [
      "http://169.254.169.254/v1/chat/completions",
      "http://[fe80::1]/v1/chat/completions",
      "http://metadata.google.internal/v1/chat/completions",
    ])
      expect(await failure(ask({ url }))).toMatchObject({ kind: "refused_address" });
    const names: string[] = [];
    const resolve = async (name: string) => {
      names.push(name);
      return [{ address: "169.254.169.254", family: 4 }];
    };
    const url = "http://engine.test/v1/chat/completions";
    expect(await failure(ask({ url }, {}, { resolve }))).toMatchObject({ kind: "refused_address" });
    expect(names).toEqual(["engine.test"]);
    const gone = await failure(ask({ url: "http://127.0.0.1:1/v1/chat/completions" }));
    expect(gone).toMatchObject({ kind: "network" });
    expect(server?.requests).toEqual([]);
  });
});
