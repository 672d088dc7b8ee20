import type { EgressOption } from "#shared/protocol/egress.ts";
import type { ProxyOption } from "#shared/protocol/proxy.ts";
import type { FieldRules, Rules } from "../../forms/rules.ts";
import { rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };

/** One option of a job as a form shows it. */
export interface OptionField {
  name: string;
  label: string;
  description: string;
  kind: "switch" | "choice" | "number" | "text" | "egress" | "proxy";
  default: OptionValue;
  unit: string;
  choices: string[];
  integer: boolean;
  min?: number;
  max?: number;
  max_length?: number;
}

export type OptionValue = string | number | boolean | null | EgressOption | ProxyOption;
/** Options that differ from what holds without them. */
export type Options = Record<string, OptionValue>;

/** Set by the hub, and what is not of one value: that is given over the API or in a preset. */
const NOT_IN_FORMS = [
  "fetch_recipe",
  "viewport",
  "geolocation",
  "permissions",
  "extra_headers",
  "init_scripts",
  "javascript",
  "ignore_https_errors",
  "http_credentials",
  "block",
];

/** "min_asset_size_bytes" reads "Min asset size": its unit is shown beside the number. */
function labelOf(name: string): string {
  const words = name.replace(/_(seconds|s|bytes)$/, "").replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function kindOf(name: string, { type }: FieldRules): OptionField["kind"] {
  if (name === "egress" || name === "proxy") return name;
  return type === "list" || type === "other" ? "text" : type;
}

const fieldOf = (name: string, rules: FieldRules): OptionField => ({
  name,
  label: labelOf(name),
  description: rules.description ?? "",
  kind: kindOf(name, rules),
  default: (rules.default ?? null) as OptionValue,
  unit: rules.unit ?? "",
  choices: rules.choices ?? [],
  integer: rules.integer ?? false,
  min: rules.min,
  max: rules.max,
  max_length: rules.max_length,
});

/** Only of the options, not of fields inside them. */
const RULES = Object.entries<FieldRules>(rulesOf("JobOptions")).filter(
  ([path]) => !path.includes("."),
);

/** Of a body that has them below `options`. */
export const OPTION_RULES: Rules = Object.fromEntries(
  RULES.map(([name, rules]) => [`options.${name}`, rules]),
);

/** Every option that a person may set, in the order of the schema (rules/job-options#the-options). */
export const FIELDS: OptionField[] = RULES.filter(([name]) => !NOT_IN_FORMS.includes(name)).map(
  ([name, rules]) => fieldOf(name, rules),
);

/** What holds when a job says nothing. */
export const DEFAULTS: Options = Object.fromEntries(
  FIELDS.map((field) => [field.name, field.default]),
);
