import { describe, expect, test } from "bun:test";
import type { TraceStep } from "#hub/fleet/codegen/door.ts";
import { recipeOf } from "#hub/fleet/codegen/offer.ts";
import { planMessages, promptText } from "#hub/fleet/codegen/prompt.ts";
import { readScript } from "#hub/fleet/codegen/read-script.ts";
import { chatVerdict, endVerdict, isWorthAnother } from "#hub/fleet/codegen/verdict.ts";
import type { ScriptEnd, ScriptOutcome } from "#hub/fleet/runner/script-run.ts";
import { CHAT_ERRORS, ChatError } from "#shared/llm/chat-message.ts";
import { ATTEMPT_CLASSES } from "#shared/protocol/schema/attempt.ts";

describe("reading a script from a reply", () => {
  const cases: [string, string, string | null][] = [
    ["one block", "Sure:\n```ts\nlog(1)\n```\nDone.", "log(1)\n"],
    ["a block without a language", "```\nlog(1)\n```", "log(1)\n"],
    ["the longest of several blocks", "```ts\na\n```\n```ts\nlonger\n```", "longer\n"],
    ["a block that was cut", "```typescript\nlog(1)\nlog(2)", "log(1)\nlog(2)\n"],
    ["an indented fence", "  ```ts\n  log(1)\n  ```", "log(1)\n"],
    [
      "a script without a fence",
      'import { log } from "flotilla";\nlog(1)',
      'import { log } from "flotilla";\nlog(1)\n',
    ],
    ["an empty block", "```ts\n\n```", null],
    ["words alone", "I cannot do that.", null],
    ["nothing", "", null],
  ];
  for (const [name, reply, script] of cases)
    test(name, () => expect(readScript(reply)).toBe(script));
});

describe("a recipe of what a script did (rules/scripts#offers)", () => {
  const step = (action: TraceStep["action"], args = {}, url = "http://a.test/x"): TraceStep => ({
    action,
    args: { timeout_s: 30, ...args },
    url,
  });
  const click = step("click", { selector: "#a", button: "left", click_count: 1 });
  const cases: [string, TraceStep[], unknown][] = [
    [
      "steps are kept, reads are left out",
      [click, step("text"), step("wait", { selector: "#b", state: "visible" })],
      [
        { kind: "click", selector: "#a" },
        { kind: "wait", selector: "#b", timeout_s: 30 },
      ],
    ],
    ["nothing that changes a page is no recipe", [step("text"), step("links")], null],
    ["another host is no recipe", [click, step("text", {}, "http://b.test/")], null],
    [
      "a password is never written down",
      [click, step("fill", { selector: "#password", text: "x" })],
      null,
    ],
    ["an action that no step can say", [click, step("hover", { selector: "#a" })], null],
    ["a click in a frame", [step("click", { selector: "#a", frame: "iframe" })], null],
    [
      "typing into a field of its own",
      [step("type", { text: "x", selector: "#a", delay_ms: 0 })],
      null,
    ],
    ["a click at a point", [step("click", { x: 1, y: 2, button: "left", click_count: 1 })], null],
    ["an argument for the page", [click, step("evaluate", { code: "1", arg: 2 })], null],
    ["more steps than a person reads", Array.from({ length: 31 }, () => click), null],
  ];
  for (const [name, trace, recipe] of cases)
    test(name, () => expect(recipeOf(trace, "a.test") as unknown).toEqual(recipe));
});

describe("classes of attempts", () => {
  test("only a script that could be better is worth another one", () => {
    expect(ATTEMPT_CLASSES.filter(isWorthAnother)).toEqual([
      "bad_script",
      "script_error",
      "wrong_result",
    ]);
  });

  test("every failure of a backend has a class", () => {
    const classes = CHAT_ERRORS.map((kind) => chatVerdict(new ChatError(kind, "no"))?.class);
    expect(Object.fromEntries(CHAT_ERRORS.map((kind, i) => [kind, classes[i]]))).toEqual({
      timeout: "capacity",
      rate_limited: "capacity",
      cancelled: "cancelled",
      network: "engine_error",
      refused_address: "engine_error",
      auth: "engine_error",
      http_status: "engine_error",
      bad_answer: "engine_error",
      cut_off: "engine_error",
      too_long: "engine_error",
    });
    expect(chatVerdict(new Error("else"))).toBeNull();
  });

  test("every end of a script that says enough by itself has a class", () => {
    const ends: ScriptEnd[] = ["ok", "error", "timeout", "limit", "cancelled", "broken"];
    const of = (end: ScriptEnd) =>
      endVerdict({ end, detail: "memory" } as ScriptOutcome, 30)?.class ?? null;
    expect(ends.map(of)).toEqual([null, null, "timeout", "sandbox", "cancelled", "sandbox"]);
  });
});

test("a prompt names its pictures and cuts what is too long", () => {
  const messages = planMessages("API", {
    goal: "find",
    url: "http://a.test/",
    page: "the page",
    picture: { mime: "image/png", content_base64: "c2VjcmV0" },
    notes: "n".repeat(5_000),
    skills: [],
    conventions: [],
    earlier: [],
  });
  const text = promptText(messages);
  expect(text).toContain("[picture image/png]");
  expect(text).not.toContain("c2VjcmV0");
  expect(text).toContain("[… 1000 characters more]");
});
