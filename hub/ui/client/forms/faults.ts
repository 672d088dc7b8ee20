import { faultOf } from "#shared/kit/issue-words.ts";
import type { FieldRules, Rules } from "./rules.ts";

type Issue = Parameters<typeof faultOf>[0];
/** The sentence that the API has for this issue. */
const words = (issue: object): string | undefined =>
  faultOf({ path: [], ...issue } as unknown as Issue);

function numberFault({ integer, min, max }: FieldRules, input: unknown): string | undefined {
  if (typeof input !== "number" || Number.isNaN(input))
    return words({ code: "invalid_type", expected: "number", input });
  if (integer && !Number.isInteger(input))
    return words({ code: "invalid_type", expected: "int", input });
  if (min !== undefined && input < min)
    return words({ code: "too_small", origin: "number", minimum: min, input });
  if (max !== undefined && input > max)
    return words({ code: "too_big", origin: "number", maximum: max, input });
  return undefined;
}

/** A text or a list: what has a length. */
function lengthFault(
  { min_length, max_length }: FieldRules,
  input: string | readonly unknown[],
): string | undefined {
  const origin = typeof input === "string" ? "string" : "array";
  if (min_length !== undefined && input.length < min_length)
    return words({ code: "too_small", origin, minimum: min_length, input });
  if (max_length !== undefined && input.length > max_length)
    return words({ code: "too_big", origin, maximum: max_length, input });
  return undefined;
}

function textFault(rules: FieldRules, input: unknown): string | undefined {
  if (typeof input !== "string") return words({ code: "invalid_type", expected: "string", input });
  const { pattern, pattern_fault, format = "regex" } = rules;
  if (pattern !== undefined && !new RegExp(pattern, "u").test(input))
    return (
      pattern_fault ?? words({ code: "invalid_format", format, pattern: `/${pattern}/`, input })
    );
  return lengthFault(rules, input);
}

function listFault(rules: FieldRules, input: unknown): string | undefined {
  if (!Array.isArray(input)) return words({ code: "invalid_type", expected: "array", input });
  const { items } = rules;
  for (const item of items ? input : []) {
    const fault = faultIn(items as FieldRules, item);
    if (fault !== undefined) return typeof item === "string" ? `“${item}” ${fault}` : fault;
  }
  return lengthFault(rules, input);
}

/** What is wrong with a value, in the API's words; undefined when no fault can be found here. */
export function faultIn(rules: FieldRules, input: unknown): string | undefined {
  if (input === undefined)
    return rules.required && words({ code: "invalid_type", expected: rules.type, input });
  if (input === null && rules.nullable) return undefined;
  switch (rules.type) {
    case "number":
      return numberFault(rules, input);
    case "text":
      return textFault(rules, input);
    case "list":
      return listFault(rules, input);
    case "choice": {
      const values = rules.choices ?? [];
      return values.includes(input as string)
        ? undefined
        : words({ code: "invalid_value", values, input });
    }
    // A switch is on or off, and of anything else the API judges.
    default:
      return undefined;
  }
}

/** By the paths of the fields. */
export type Faults = Record<string, string>;

/** What is wrong with a body before it is sent. The fields of an object are judged where the object is given. */
export function faultsOf(rules: Rules, body: object): Faults {
  const faults: Faults = {};
  for (const [path, field] of Object.entries(rules)) {
    const names = path.split(".");
    const last = names.pop() ?? "";
    const whole = names.reduce(partOf, body);
    if (!isObject(whole)) continue;
    const fault = faultIn(field, whole[last]);
    if (fault !== undefined) faults[path] = fault;
  }
  return faults;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

const partOf = (whole: unknown, name: string): unknown =>
  isObject(whole) ? whole[name] : undefined;
