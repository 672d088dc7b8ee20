import { parseJson } from "#shared/kit/json.ts";

const FENCE = /```[ \t]*(?:json[c5]?)?[ \t]*\r?\n([\s\S]*?)```/gi;
/** Total number of characters to look at: an answer full of brackets must not take forever. */
const MAX_LOOKS = 5_000_000;

/**
 * The JSON value in an answer that may be fenced or surrounded by words; the last one that fits, because examples and
 * thoughts come before the answer. Undefined when there is none.
 * @param schema only its outer shape is checked: `type`, and `required` of an object
 */
export function findJson(answer: string, schema: Record<string, unknown>): unknown {
  const whole = parsed(answer);
  if (whole !== undefined) return fits(whole, schema) ? whole : undefined;
  const fenced = [...answer.matchAll(FENCE)].map(([, inner]) => parsed(inner ?? ""));
  const candidates = fenced.filter((value) => fits(value, schema));
  if (candidates.length > 0) return candidates.at(-1);
  return bracketed(answer)
    .filter((value) => fits(value, schema))
    .at(-1);
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function fits(value: unknown, { type, required }: Record<string, unknown>): boolean {
  if (value === undefined) return false;
  const types = (Array.isArray(type) ? type : [type]).filter((t) => typeof t === "string");
  if (types.length > 0 && !types.some((t) => isOf(value, t))) return false;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return true;
  const names = Array.isArray(required) ? required : [];
  return names.every((name) => Object.hasOwn(value, String(name)));
}

function isOf(value: unknown, type: string): boolean {
  switch (type) {
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "array":
      return Array.isArray(value);
    case "null":
      return value === null;
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

/** Every outermost object and array in a text. */
function bracketed(text: string): unknown[] {
  const found: unknown[] = [];
  let looks = 0;
  for (let at = 0; at < text.length && looks < MAX_LOOKS; at += 1) {
    if (text[at] !== "{" && text[at] !== "[") continue;
    const end = closingOf(text, at);
    looks += (end === -1 ? text.length : end) - at;
    const value = end === -1 ? undefined : parsed(text.slice(at, end + 1));
    if (value === undefined) continue;
    found.push(value);
    at = end;
  }
  return found;
}

/** Index of the bracket that closes the one at `from`, or -1. */
function closingOf(text: string, from: number): number {
  let depth = 0;
  let quoted = false;
  for (let at = from; at < text.length; at += 1) {
    const sign = text[at];
    if (quoted) {
      if (sign === "\\") at += 1;
      else if (sign === '"') quoted = false;
    } else if (sign === '"') quoted = true;
    else if (sign === "{" || sign === "[") depth += 1;
    else if ((sign === "}" || sign === "]") && --depth === 0) return at;
  }
  return -1;
}
