import { describe, expect, test } from "bun:test";
import { retryAfterMs } from "#shared/kit/retry-after.ts";
import { completionsUrl } from "#shared/llm/endpoint.ts";
import { createGatherer } from "#shared/llm/gather.ts";
import { findJson } from "#shared/llm/json-answer.ts";
import { createKeyMask } from "#shared/llm/key-mask.ts";
import { createSseReader } from "#shared/llm/sse.ts";
import { splitThinking } from "#shared/llm/think.ts";

test("/v1/chat/completions is appended unless the endpoint ends with it (rules/engines#endpoint-of-an-engine)", () => {
  const at = (path: string) => completionsUrl(`http://host:1${path}`).replace("http://host:1", "");
  expect(at("")).toBe("/v1/chat/completions");
  expect(at("/")).toBe("/v1/chat/completions");
  expect(at("/v1")).toBe("/v1/chat/completions");
  expect(at("/api/v3/")).toBe("/api/v3/chat/completions");
  expect(at("/proxy")).toBe("/proxy/v1/chat/completions");
  expect(at("/chat/completions")).toBe("/chat/completions");
  expect(at("/chat/completions/")).toBe("/chat/completions/");
  expect(at("/v1?key=a")).toBe("/v1/chat/completions?key=a");
});

describe("server-sent events", () => {
  const bytes = new TextEncoder().encode(
    ': keep-alive\r\n\r\ndata: {"a":\r\ndata: "wörld ✓"}\r\nid: 1\r\n\r\ndata:[DONE]\n\ndata: last',
  );
  const events = ['{"a":\n"wörld ✓"}', "[DONE]", "last"];
  test("are the same wherever the stream is cut", () => {
    for (let size = 1; size <= bytes.length; size += 1) {
      const seen: string[] = [];
      const reader = createSseReader((data) => seen.push(data));
      for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
      reader.end();
      expect({ size, seen }).toEqual({ size, seen: events });
    }
  });

  test("a line without an end is refused", () => {
    const reader = createSseReader(() => {});
    const chunk = new TextEncoder().encode("x".repeat(1024 * 1024));
    expect(() => {
      for (let i = 0; i < 6; i += 1) reader.push(chunk);
    }).toThrow(RangeError);
  });
});

describe("think blocks (rules/engines#thinking)", () => {
  for (const [what, raw, text, thinking] of [
    ["none", "an answer", "an answer", null],
    ["one before the answer", "<think>\nhm\n</think>\n\nyes", "yes", "hm"],
    ["one without its opening tag", "hm\n</think>\nyes", "yes", "hm"],
    ["one that never ends", "<think>hm, well", "", "hm, well"],
    ["two", "<think>a</think>\nyes\n<thinking>b</thinking>\nand no", "yes\n\nand no", "a\n\nb"],
    ["an empty one", "<think>\n\n</think>\nyes", "yes", null],
    ["a tag that the answer speaks of", 'use "<think>" here', 'use "<think>" here', null],
  ] as const)
    test(`${what}`, () => expect(splitThinking(raw)).toEqual({ text, thinking }));
});

describe("JSON in an answer", () => {
  const schema = { type: "object", required: ["x"] };
  for (const [what, answer, found] of [
    ["alone", ' {"x":1} ', { x: 1 }],
    ["fenced, with words around", 'Here:\n```json\n{"x":1}\n```\nDone {"x":9}', { x: 1 }],
    ["among words", 'It is {"x": {"y": "}"}} as asked.', { x: { y: "}" } }],
    ["after an example of another shape", '{"z":0} no: {"x":1}', { x: 1 }],
    ["the last of two", 'first {"x":1}, better {"x":2}', { x: 2 }],
    ["in a fence that holds none", 'see ```\nnothing\n``` so {"x":1}', { x: 1 }],
    ["of another shape", '{"y":1}', undefined],
    ["not there", "no { braces } here", undefined],
    ["cut", '{"x": 1', undefined],
    ["an array", "[1]", undefined],
  ] as const)
    test(`${what}`, () => expect(findJson(answer, schema)).toEqual(found as object | undefined));

  test("other types than objects are found by their schema", () => {
    expect(findJson("the list: [1, 2]", { type: "array" })).toEqual([1, 2]);
    expect(findJson("3", { type: "integer" })).toBe(3);
    expect(findJson('"a"', { type: ["string", "null"] })).toBe("a");
    expect(findJson("null", { type: "number" })).toBeUndefined();
    expect(findJson("true", {})).toBe(true);
  });

  test("an answer of nothing but brackets is judged quickly", () => {
    const since = performance.now();
    expect(findJson("{[".repeat(500_000), schema)).toBeUndefined();
    expect(performance.now() - since).toBeLessThan(10_000);
  });
});

test("Retry-After is seconds or a date", () => {
  const now = Date.UTC(2026, 0, 1);
  const ms = (header: string | undefined) => retryAfterMs(header, now);
  expect(ms("3")).toBe(3_000);
  expect(ms("0.5")).toBe(500);
  expect(ms(new Date(now + 4_000).toUTCString())).toBe(4_000);
  expect(ms(new Date(now - 4_000).toUTCString())).toBe(0);
  expect([ms(undefined), ms(""), ms("soon"), ms("-1")]).toEqual([null, null, null, null]);
});

test("a key is hidden wherever its stream is cut, and short values are no keys", () => {
  const mask = createKeyMask({
    authorization: "Bearer sk-secret",
    "x-api-key": "abc",
    accept: "all-of-it",
  });
  const text = "a sk-secret b sk-secre c all-of-it abc";
  for (let size = 1; size <= text.length; size += 1) {
    let shown = "";
    const stream = mask.stream((piece) => {
      shown += piece;
    });
    for (let at = 0; at < text.length; at += size) stream.push(text.slice(at, at + size));
    stream.end();
    expect(shown).toBe("a *** b sk-secre c all-of-it abc");
  }
});

test("an answer is put together from deltas, whole messages and lists of parts", () => {
  const heard: string[] = [];
  const { add, said } = createGatherer((piece) => heard.push(piece));
  add({ model: "m", choices: [{ delta: { role: "assistant", content: null } }] });
  add({ choices: [{ delta: { content: "a" }, finish_reason: null }] });
  add({ choices: [{ delta: { reasoning_content: "r" } }] });
  add({ choices: [{ delta: { tool_calls: [{ function: { arguments: "{}" } }] } }] });
  add({
    choices: [{ message: { content: [{ type: "text", text: "b" }] }, finish_reason: "stop" }],
  });
  add({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } });
  for (const nothing of [null, 1, "x", [], { choices: "no" }, { choices: [null] }]) add(nothing);
  expect(said).toEqual({
    content: "ab",
    reasoning: "r",
    tool: "{}",
    model: "m",
    finish_reason: "stop",
    usage: { prompt_tokens: 1, completion_tokens: 2 },
    choices: true,
  });
  expect(heard).toEqual(["a", "b"]);
});
