import type { RecipeAction } from "#shared/protocol/schema/recipe.ts";
import type { FieldRules } from "../../forms/rules.ts";
import { stepRules } from "../../forms/rules-macro.ts" with { type: "macro" };

export type Kind = RecipeAction["kind"];
type ActionOf<K extends Kind> = Extract<RecipeAction, { kind: K }>;
type FieldName<K extends Kind> = Exclude<keyof ActionOf<K>, "kind">;

export interface Field {
  label: string;
  hint?: string;
  /** `list`: one per line. */
  input: "line" | "text" | "code" | "number" | "list";
  /** Shown only in a step that has it: recorded steps do. */
  rare?: true;
  /** Shown in the label of a number. */
  unit?: string;
}

const RULES = stepRules();
export const ruleOf = (kind: string, field: string): FieldRules | undefined => RULES[kind]?.[field];

interface KindForm<K extends Kind> {
  title: string;
  says: string;
  /** One for each field of the schema: a missing or unknown one does not compile. */
  fields: { [F in FieldName<K>]-?: Field };
  blank: ActionOf<K>;
}

const selector: Field = {
  label: "Selector",
  hint: "CSS, text=… or another Playwright selector",
  input: "line",
};
const frame: Field = {
  label: "In iframes",
  hint: "Their selectors from outside in, one per line",
  input: "list",
  rare: true,
};
/** Stands for a value of the hub's environment (rules/recipes#secrets-in-recipes). */
export const PLACEHOLDER = ["$", "{ENV:NAME}"].join("");
const secret = `Write a secret as ${PLACEHOLDER}: its value comes from the hub's environment`;

/** The form of every kind of step (rules/recipes#actions). */
export const KINDS: { [K in Kind]: KindForm<K> } = {
  wait: {
    title: "Wait",
    says: "until an element is there and visible",
    fields: {
      selector,
      timeout_s: {
        label: "At most",
        unit: "s",
        input: "number",
        hint: "By default, the time the recipe has left",
      },
      frame,
    },
    blank: { kind: "wait", selector: "" },
  },
  click: {
    title: "Click",
    says: "an element",
    fields: { selector, click_count: { label: "Clicks", input: "number", rare: true }, frame },
    blank: { kind: "click", selector: "" },
  },
  fill: {
    title: "Fill",
    says: "set the text of a field",
    fields: { selector, text: { label: "Text", input: "line", hint: secret }, frame },
    blank: { kind: "fill", selector: "", text: "" },
  },
  type: {
    title: "Type",
    says: "keys, one by one, where the focus is",
    fields: { text: { label: "Text", input: "line", hint: secret } },
    blank: { kind: "type", text: "" },
  },
  press: {
    title: "Press",
    says: "one key or a combination",
    fields: {
      key: { label: "Key", input: "line", hint: "Enter, Escape, Control+A" },
      selector: { ...selector, rare: true },
      frame,
    },
    blank: { kind: "press", key: "Enter" },
  },
  select_option: {
    title: "Select",
    says: "options of a list",
    fields: {
      selector,
      values: { label: "Values", input: "list", hint: "Value or text of an option, one per line" },
      frame,
    },
    blank: { kind: "select_option", selector: "", values: [] },
  },
  check: {
    title: "Tick",
    says: "a checkbox or a radio button",
    fields: { selector, frame },
    blank: { kind: "check", selector: "" },
  },
  uncheck: {
    title: "Untick",
    says: "a checkbox",
    fields: { selector, frame },
    blank: { kind: "uncheck", selector: "" },
  },
  scroll: {
    title: "Scroll",
    says: "down by pixels, up by negative ones",
    fields: { amount: { label: "Amount", unit: "px", input: "number" } },
    blank: { kind: "scroll", amount: 1_000 },
  },
  navigate: {
    title: "Navigate",
    says: "to another URL",
    fields: { url: { label: "URL", input: "line", hint: "Absolute, http or https" } },
    blank: { kind: "navigate", url: "https://" },
  },
  evaluate: {
    title: "Evaluate",
    says: "run JavaScript in the page",
    fields: { code: { label: "Code", input: "code" } },
    blank: { kind: "evaluate", code: "" },
  },
};

export const KIND_NAMES = Object.keys(KINDS) as Kind[];

/** Fields of a kind in the order of the form; none for an unknown kind, whatever somebody wrote. */
export const fieldsOf = (kind: string): [string, Field][] =>
  Object.hasOwn(KINDS, kind) ? Object.entries(KINDS[kind as Kind].fields) : [];
