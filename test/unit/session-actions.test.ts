import { expect, test } from "bun:test";
import { describeAction } from "#hub/fleet/routes/session-action-docs.ts";
import { argsOf } from "#hub/fleet/runner/guest/arguments.ts";
import { allScriptArguments, type ScriptArguments } from "#hub/fleet/runner/script-arguments.ts";
import {
  SESSION_ACTIONS,
  type SessionActionName,
} from "#shared/protocol/actions/session-actions.ts";

const actions = Object.entries(SESSION_ACTIONS);

/** How many arguments before its options a declaration of a method takes. */
function positionsIn(declaration: string): number {
  let depth = 0;
  let parameters = "";
  for (const char of declaration.slice(declaration.indexOf("("))) {
    if ("({[<".includes(char)) depth += 1;
    else if (")}]".includes(char)) depth -= 1;
    if (depth === 0) break;
    if (depth === 1) parameters += char;
  }
  return [...parameters.matchAll(/(\w+)\??:/g)].filter(([, name]) => name !== "options").length;
}

test("every action has an example that its schema takes, and a summary of one line (rules/session-actions#the-actions)", () => {
  for (const [name, { args, example, summary }] of actions) {
    expect({ name, ok: args.safeParse(example).success }).toEqual({ name, ok: true });
    expect(summary).toMatch(/^[A-Z].*[^.\s]$/);
  }
});

test("the documents of the API describe what every action answers (rules/session-actions#calls-and-answers)", () => {
  for (const [name, { result }] of actions) {
    const route = describeAction(name as SessionActionName);
    const { schema } = route.responses[200].content["application/json"];
    const head = { ok: true, url: "about:blank", title: "", ms: 1 };
    // Any value but `evaluate`'s has a form.
    const strange = { ...head, result: Symbol.for(name) };
    expect({ name, ok: schema.safeParse(strange).success }).toEqual({
      name,
      ok: name === "evaluate",
    });
    expect(result.safeParse(Symbol.for(name)).success).toBe(name === "evaluate");
  }
});

test("scripts can give by position what is declared so (rules/scripts#script-module)", () => {
  const forms = allScriptArguments();
  for (const [name, { script }] of actions) {
    const declared = script.filter((line) => line.startsWith(name)).map(positionsIn);
    expect({ name, declarations: declared.length > 0 }).toEqual({ name, declarations: true });
    const most = Math.max(0, ...(forms[name]?.forms ?? []).map((form) => form.length));
    expect({ name, most }).toEqual({ name, most: Math.max(...declared, most) });
  }
});

test("a script's values become the arguments of the action, by position and as options", () => {
  const all = allScriptArguments();
  const given = (action: keyof typeof SESSION_ACTIONS, ...values: unknown[]) =>
    argsOf(action, all[action] as ScriptArguments, values);
  expect(given("click", "a", { button: "right" })).toEqual({ selector: "a", button: "right" });
  expect(given("click", { selector: "a" })).toEqual({ selector: "a" });
  expect(given("click", 3, 4, { click_count: 2 })).toEqual({ x: 3, y: 4, click_count: 2 });
  expect(given("type", "hi")).toEqual({ text: "hi" });
  expect(given("type", "#a", "hi", { delay_ms: 5 })).toEqual({
    selector: "#a",
    text: "hi",
    delay_ms: 5,
  });
  expect(given("press", "#a", "Enter")).toEqual({ selector: "#a", key: "Enter" });
  expect(given("mouse", "move", 1, 2)).toEqual({ op: "move", x: 1, y: 2 });
  expect(given("mouse", "down", { button: "left" })).toEqual({ op: "down", button: "left" });
  expect(given("select_option", "#a", "m")).toEqual({ selector: "#a", values: ["m"] });
  expect(given("scroll", 800)).toEqual({ amount: 800 });
  expect(given("scroll", "#a", { frame: "iframe" })).toEqual({ selector: "#a", frame: "iframe" });
  expect(given("wait", 2)).toEqual({ seconds: 2 });
  expect(given("wait", "networkidle")).toEqual({ load_state: "networkidle" });
  expect(given("wait", "#done", { state: "hidden" })).toEqual({
    selector: "#done",
    state: "hidden",
  });
  expect(given("evaluate", "(a) => a.b", { b: 1 })).toEqual({ code: "(a) => a.b", arg: { b: 1 } });
  expect(given("evaluate", { code: "1" })).toEqual({ code: "1" });
  expect(given("tab", "new", "http://a.test/")).toEqual({ op: "new", url: "http://a.test/" });
  expect(given("tab", "close", 2)).toEqual({ op: "close", index: 2 });
  expect(given("dialog", "accept", "Ada")).toEqual({ op: "accept", prompt_text: "Ada" });
  expect(given("text")).toEqual({});
  expect(given("recipe", [{ kind: "click" }])).toEqual({ actions: [{ kind: "click" }] });
  expect(given("set_input_files", "#f", { name: "a.txt", content: "hello" })).toEqual({
    selector: "#f",
    files: [{ name: "a.txt", content_base64: "aGVsbG8=" }],
  });
  expect(() => given("back", "there")).toThrow("session.back takes no values and options");
});
