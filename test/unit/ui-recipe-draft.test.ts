import { describe, expect, test } from "bun:test";
import {
  blankStep,
  draftFromText,
  draftOf,
  issuesBelow,
  issuesWithout,
  messageAt,
  moved,
  recordOf,
  withKind,
} from "#hub/ui/client/fleet/host/draft.ts";
import { fieldsOf, KIND_NAMES, ruleOf } from "#hub/ui/client/fleet/host/recipe-fields.ts";

/** A recipe while somebody writes it (rules/recipes#actions). */

const RECIPE = {
  pattern: "*.shop.test",
  actions: [
    { kind: "click", selector: "#buy", click_count: 2 },
    { kind: "fill", selector: "#name", text: "Ada" },
  ],
};

describe("a draft", () => {
  test("is the recipe with steps that have a key of their own, and becomes it again", () => {
    const draft = draftOf(RECIPE);
    expect(draft.head).toEqual({ pattern: "*.shop.test" });
    expect(new Set(draft.steps.map(({ key }) => key)).size).toBe(2);
    expect(recordOf(draft)).toEqual(RECIPE);
    expect(draftOf({ pattern: "x" }).steps).toEqual([]);
  });

  test("that is read from JSON keeps the steps that are the same, with what their last run showed", () => {
    const before = draftOf(RECIPE);
    const text = JSON.stringify({
      ...RECIPE,
      actions: [RECIPE.actions[0], { kind: "press", key: "Enter" }],
    });
    const after = draftFromText(text, before);
    expect(after.steps[0]).toBe(before.steps[0] as never);
    expect(after.steps[1]?.key).not.toBe(before.steps[1]?.key as string);
    expect(recordOf(after)).toEqual(JSON.parse(text));
  });

  test("says in words what no recipe is", () => {
    const read = (text: string) => () => draftFromText(text, draftOf({}));
    expect(read("{")).toThrow(SyntaxError);
    for (const text of ["[]", "null", "7", '"a"']) expect(read(text)).toThrow("must be an object");
    expect(read('{"actions": {}}')).toThrow("actions must be a list");
    expect(read('{"actions": [{"kind": "click"}, {}]}')).toThrow(
      "actions.1 must be an object with a kind",
    );
    expect(read('{"actions": [null]}')).toThrow("actions.0 must be an object with a kind");
  });

  test("has no fields for a kind that there is not, whatever somebody wrote", () => {
    for (const kind of ["jump", "toString", "constructor", "__proto__", ""])
      expect({ kind, fields: fieldsOf(kind), rule: ruleOf("jump", kind) }).toEqual({
        kind,
        fields: [],
        rule: undefined,
      });
  });
});

describe("a step", () => {
  test("that changes its kind keeps the fields that both have", () => {
    expect(withKind({ kind: "click", selector: "#a", click_count: 2 }, "fill")).toEqual({
      kind: "fill",
      selector: "#a",
      text: "",
    });
    expect(withKind({ kind: "fill", selector: "#a", text: "x" }, "type")).toEqual({
      kind: "type",
      text: "x",
    });
    expect(withKind({ kind: "odd", selector: "#a" }, "scroll")).toEqual({
      kind: "scroll",
      amount: 1_000,
    });
  });

  test("begins blank with a key of its own, and does not share its fields with the next", () => {
    for (const kind of KIND_NAMES) {
      const [one, other] = [blankStep(kind), blankStep(kind)];
      expect(one.action).toEqual(other.action);
      expect(one.action).not.toBe(other.action);
      expect(one.key).not.toBe(other.key);
    }
  });

  test("moves within the list, and no further", () => {
    expect(moved(["a", "b", "c"], 0, 2)).toEqual(["b", "c", "a"]);
    expect(moved(["a", "b", "c"], 2, -5)).toEqual(["c", "a", "b"]);
    expect(moved(["a", "b", "c"], 1, 99)).toEqual(["a", "c", "b"]);
    expect(moved(["a"], 7, 0)).toEqual(["a"]);
  });
});

describe("what the API refuses", () => {
  const issues = [
    { loc: ["body", "actions", 1, "selector"], msg: "is required" },
    { loc: ["body", "actions", 1, "selector"], msg: "must be a text" },
    { loc: ["body", "actions", 1], msg: "is no step" },
    { loc: ["body", "pattern"], msg: "is no pattern" },
  ] as never;
  const below = issuesBelow(issues, "body");
  test("is said at its field, together where there are several", () => {
    expect(messageAt(below, "actions", 1, "selector")).toBe("is required; must be a text");
    expect(messageAt(below, "actions", 1)).toBe("is no step");
    expect([messageAt(below, "actions"), messageAt(below, "actions", 0)]).toEqual([null, null]);
  });

  test("is forgotten where it was changed, with everything inside", () => {
    expect(issuesWithout(below, "actions", 1).map(({ msg }) => msg)).toEqual(["is no pattern"]);
    expect(issuesWithout(below, "pattern")).toHaveLength(3);
  });
});
