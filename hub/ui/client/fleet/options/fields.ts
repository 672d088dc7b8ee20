import { jobOptionsSchema } from "./schema-macro.ts" with { type: "macro" };

/** One option of a job as a form shows it. */
export interface OptionField {
  name: string;
  label: string;
  description: string;
  kind: "switch" | "choice" | "number" | "text";
  default: OptionValue;
  unit: string;
  choices: string[];
  integer: boolean;
  min?: number;
  max?: number;
  max_length?: number;
}

export type OptionValue = string | number | boolean | null;
/** Options that differ from what holds without them. */
export type Options = Record<string, OptionValue>;

interface Rules {
  type?: string | string[];
  enum?: string[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
}
interface Property extends Rules {
  default: OptionValue;
  description?: string;
  "x-unit"?: string;
  anyOf?: Rules[];
}

/** Set by the hub, or no single value: a form shows neither. */
const NOT_IN_FORMS = ["fetch_recipe", "egress", "proxy"];

/** "min_asset_size_bytes" reads "Min asset size": its unit is shown beside the number. */
function labelOf(name: string): string {
  const words = name.replace(/_(seconds|s|bytes)$/, "").replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function kindOf(rules: Rules): OptionField["kind"] {
  if (rules.enum) return "choice";
  const types = [rules.type].flat();
  if (types.includes("boolean")) return "switch";
  return types.includes("integer") || types.includes("number") ? "number" : "text";
}

/** Zod writes the largest safe integer where a schema sets no bound. */
const bound = (value: number | undefined) =>
  value === undefined || Math.abs(value) >= Number.MAX_SAFE_INTEGER ? undefined : value;

function fieldOf(name: string, property: Property): OptionField {
  const rules = property.anyOf?.find(({ type }) => type !== "null") ?? property;
  return {
    name,
    label: labelOf(name),
    description: property.description ?? "",
    kind: kindOf(rules),
    default: property.default,
    unit: property["x-unit"] ?? "",
    choices: rules.enum ?? [],
    integer: rules.type === "integer",
    min: bound(rules.minimum),
    max: bound(rules.maximum),
    max_length: rules.maxLength,
  };
}

const PROPERTIES = jobOptionsSchema() as unknown as Record<string, Property>;

/** Every option that a person may set, in the order of the schema (rules/job-options#the-options). */
export const FIELDS: OptionField[] = Object.entries(PROPERTIES)
  .filter(([name]) => !NOT_IN_FORMS.includes(name))
  .map(([name, property]) => fieldOf(name, property));

/** What holds when a job says nothing. */
export const DEFAULTS: Options = Object.fromEntries(
  FIELDS.map((field) => [field.name, field.default]),
);
