import type { EgressOption } from "#shared/protocol/egress.ts";
import type { ProxyOption } from "#shared/protocol/proxy.ts";
import type { FieldRules, Rules } from "../../forms/rules.ts";
import { browserOptionNames, rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };
import { type BrowserKind, type BrowserValues, isBrowserKind } from "./browser-values.ts";

/** One option of a job as a form shows it. */
export interface OptionField {
  name: string;
  label: string;
  description: string;
  kind:
    | "switch"
    | "yes-no"
    | "choice"
    | "choices"
    | "number"
    | "text"
    | "egress"
    | "proxy"
    | BrowserKind;
  default: OptionValue;
  unit: string;
  choices: string[];
  integer: boolean;
  min?: number;
  max?: number;
  max_length?: number;
}

export type OptionValue =
  | string
  | number
  | boolean
  | null
  | string[]
  | EgressOption
  | ProxyOption
  | BrowserValues[BrowserKind];
/** Options that differ from what holds without them. */
export type Options = Record<string, OptionValue>;

/** Set by the hub. */
const NOT_IN_FORMS = ["fetch_recipe"];

/** Where the words of a name are not those of a label. */
const LABELS: Record<string, string> = {
  http_credentials: "HTTP login",
  ignore_https_errors: "Ignore HTTPS errors",
  javascript: "JavaScript",
};

/** "min_asset_size_bytes" reads "Min asset size": its unit is shown beside the number. */
function labelOf(name: string): string {
  const words = name.replace(/_(seconds|s|bytes)$/, "").replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function kindOf(name: string, { type, nullable, items }: FieldRules): OptionField["kind"] {
  if (name === "egress" || name === "proxy" || isBrowserKind(name)) return name;
  // Unlike a switch it can also be left to somebody else.
  if (type === "switch" && nullable) return "yes-no";
  if (items?.choices) return "choices";
  return type === "list" || type === "other" ? "text" : type;
}

const fieldOf = (name: string, rules: FieldRules): OptionField => ({
  name,
  label: LABELS[name] ?? labelOf(name),
  description: rules.description ?? "",
  kind: kindOf(name, rules),
  default: (rules.default ?? null) as OptionValue,
  unit: rules.unit ?? "",
  choices: rules.choices ?? rules.items?.choices ?? [],
  integer: rules.integer ?? false,
  min: rules.min,
  max: rules.max,
  max_length: rules.max_length,
});

const ALL_RULES = rulesOf("JobOptions");

/** Only of the options, not of fields inside them. */
const RULES = Object.entries<FieldRules>(ALL_RULES).filter(([path]) => !path.includes("."));

/** Of the parts of a browser's options, by their paths in a body that has the options below `at`. */
export const partRulesBelow = (at: string): Rules =>
  Object.fromEntries(
    Object.entries<FieldRules>(ALL_RULES)
      .filter(([path]) => path.includes(".") && isBrowserKind(path.split(".")[0] ?? ""))
      .map(([path, rules]) => [`${at}.${path}`, rules]),
  );

/** Of a body that has them below `options`. */
export const OPTION_RULES: Rules = {
  ...Object.fromEntries(RULES.map(([name, rules]) => [`options.${name}`, rules])),
  ...partRulesBelow("options"),
};

/** Every option that a person may set, in the order of the schema (rules/job-options#the-options). */
export const FIELDS: OptionField[] = RULES.filter(([name]) => !NOT_IN_FORMS.includes(name)).map(
  ([name, rules]) => fieldOf(name, rules),
);

/** What holds when a job says nothing. */
export const DEFAULTS: Options = Object.fromEntries(
  FIELDS.map((field) => [field.name, field.default]),
);

/** What a session, a host or a job says of its browser (rules/browser-options#the-options). */
export const BROWSER_FIELDS: OptionField[] = FIELDS.filter(({ name }) =>
  browserOptionNames().includes(name),
);

/** Of the parts of options that have some. */
export const PART_RULES: Readonly<Rules> = ALL_RULES;
