import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { MAX_EVENT_BYTES, RecordingEvent } from "#shared/recording/events.ts";
import { createMask } from "#shared/recording/masks.ts";
import { createEventWriter } from "#worker/browser/recording/event-writer.ts";

/** What an event may show of what the worker knows (rules/recordings#secrets-in-recordings). */

const SECRET = "hunter22!";
const writer = (secrets: string[]) => createEventWriter(createMask(secrets));
const action = (args: Record<string, unknown>, more: object = {}): RecordingEvent =>
  ({
    type: "action",
    name: "evaluate",
    ms: 1,
    outcome: "done",
    arguments: args,
    ...more,
  }) as RecordingEvent;
const bytesOf = (event: unknown) => Buffer.byteLength(JSON.stringify(event));

/** One event of each kind with a text in every place that takes one. */
const saying = (text: string): RecordingEvent[] => [
  { type: "stage", stage: text, text },
  { type: "navigation", url: `https://site.test/?q=${text}`, tab: text },
  { type: "step", of: "agent", text, reason: text },
  { type: "viewer", state: "connected", by: text },
  { type: "cdp", state: "connected", by: text },
  { type: "input", kind: "keys", count: 4, by: text },
  { type: "tab", state: "opened", tab: text, url: text },
  { type: "dialog", state: "opened", kind: "prompt", text, by: text },
  { type: "download", state: "began", name: text, url: text },
  { type: "console", level: text, text, url: text },
  { type: "error", text, url: text },
  { type: "request_failed", url: text, error: text, resource: text },
  { type: "note", level: "warn", text },
  action({ selector: text, [text]: 1, deep: [{ [text]: [text] }] }, { error: text, tab: text }),
];

describe("secrets in events (rules/recordings#secrets-in-recordings)", () => {
  test("no kind of event shows a secret in any of its texts, nor in names of arguments", () => {
    const fit = writer([SECRET]);
    for (const event of saying(`a ${SECRET} b`)) {
      const fitted = fit(event);
      expect(JSON.stringify(fitted)).not.toContain(SECRET);
      expect(JSON.stringify(fitted)).toContain("***");
      expect(RecordingEvent.safeParse(fitted).error).toBeUndefined();
    }
  });

  test("a secret that begins with another one leaves nothing of its end", () => {
    for (const secrets of [
      ["hunter", "hunter22-tail"],
      ["hunter22-tail", "hunter"],
    ]) {
      const fit = writer(secrets);
      const note = fit({ type: "note", level: "info", text: "it is hunter22-tail, not hunter." });
      expect(note).toMatchObject({ text: "it is ***, not ***." });
    }
  });

  test("a secret across the place where a text is cut does not show its beginning", () => {
    const fit = writer([SECRET]);
    for (let before = 1_985; before <= 2_001; before += 1) {
      const text = "x".repeat(before) + SECRET;
      expect(JSON.stringify(fit({ type: "note", level: "info", text }))).not.toContain("hun");
      expect(JSON.stringify(fit(action({ code: text })))).not.toContain("hun");
    }
  });

  test("credentials in addresses become stars wherever the address stands", () => {
    const fit = writer([]);
    for (const event of saying("see https://ann:pw%40x@site.test/ and"))
      expect(JSON.stringify(fit(event))).not.toContain("pw%40x");
  });

  test("of what is typed there is its length alone, whatever the letter case and however deep it stands", () => {
    const fit = writer([]);
    for (const key of ["value", "TEXT", "Password", "token", "prompt_text", "keys"]) {
      const { arguments: args } = fit(
        action({
          [key]: "correct horse",
          steps: [{ [key]: ["horse"] }, { [key]: { a: "horse" } }],
        }),
      ) as { arguments: Record<string, unknown> };
      expect(JSON.stringify(args)).not.toContain("horse");
      expect(args[key]).toBe("*** (13 characters)");
    }
  });

  test("why an action failed does not say with what, however deep that stands", () => {
    const fit = writer([]);
    const error = 'Unknown key: "correct horse", not correct%20horse';
    for (const args of [
      { key: "correct horse" },
      { actions: [{ text: "correct horse" }] },
      { values: ["correct horse"] },
    ]) {
      const fitted = fit(action(args, { error }));
      expect(fitted).toMatchObject({ error: 'Unknown key: "***", not ***' });
    }
    expect(fit(action({ selector: "#a" }, { error: "no #a" }))).toMatchObject({ error: "no #a" });
  });

  test("short values are no secrets, and nothing else of the text is changed", () => {
    const fit = writer(["", "a", "ab", "abc"]);
    const event: RecordingEvent = { type: "note", level: "info", text: "abc is in abcdef" };
    expect(fit(event)).toEqual(event);
  });

  test("an event that was told is not changed", () => {
    const event = action({ value: SECRET, list: [SECRET] }, { error: SECRET });
    const before = structuredClone(event);
    writer([SECRET])(event);
    expect(event).toEqual(before);
  });
});

describe("the size of an event (rules/recordings#the-events)", () => {
  test("texts that JSON makes six times as long stay within it", () => {
    const fit = writer([SECRET]);
    for (const filler of ["\u0000", "\u001b", "\ud800", "€", '"', "\\"])
      for (const event of saying(filler.repeat(5_000))) {
        const fitted = fit(event);
        expect(bytesOf(fitted)).toBeLessThanOrEqual(MAX_EVENT_BYTES);
        expect(RecordingEvent.safeParse(fitted).error).toBeUndefined();
      }
  });

  test("whatever an action was told, its event can be read", () => {
    const fit = writer([SECRET]);
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue(), { maxKeys: 4 }),
        (args) => {
          const fitted = fit(action(args as Record<string, unknown>));
          expect(RecordingEvent.safeParse(fitted).error).toBeUndefined();
          expect(bytesOf(fitted)).toBeLessThanOrEqual(MAX_EVENT_BYTES);
        },
      ),
      { numRuns: 40 },
    );
  });

  test("arguments that are too many or too deep are left out, and the event says so", () => {
    const fit = writer([]);
    const deep = fit(action({ a: { b: { c: { d: { e: 1 } } } } }));
    expect(JSON.stringify(deep)).toContain("…");
    const many = fit(action({ list: new Array(200).fill("y".repeat(2_000)) }));
    expect(many).toMatchObject({ arguments: { omitted: expect.stringMatching(/^\d+ bytes$/) } });
    const { arguments: args } = fit(
      action(Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`k${i}`, i]))),
    ) as { arguments: Record<string, unknown> };
    expect(Object.keys(args)).toHaveLength(50);
  });
});
