import type { z } from "zod";
import { counted } from "#shared/kit/words.ts";

/** An error shows only enough of a value to recognize it. */
const MAX_SHOWN = 60;

const TYPES: Record<string, string> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  object: "an object",
  record: "an object",
  array: "a list",
  null: "null",
  date: "a date",
};
const FORMATS: Record<string, string> = {
  datetime: "an ISO 8601 time such as 2026-01-01T00:00:00Z",
  url: "a URL",
  email: "an e-mail address",
  uuid: "a UUID",
  json_string: "JSON",
  safeint: "a whole number",
};

type Issue = Parameters<z.core.$ZodErrorMap>[0];

/** The field as its caller wrote it: `items.3.priority`. */
const fieldOf = ({ path = [] }: Issue): string =>
  path.length === 0 ? "the value" : path.map(String).join(".");

/** Includes fields that should hold only the name of a secret: people put the secret itself there. */
const NEAR_SECRET = /key|token|secret|pass|cookie|auth|credential/i;

/** `, not 900`; nothing for a value that cannot or must not be shown. */
function notThis({ path = [], input }: Issue): string {
  if (path.some((part) => typeof part === "string" && NEAR_SECRET.test(part))) return "";
  if (Number.isNaN(input)) return "";
  if (typeof input === "object" && input !== null)
    return Array.isArray(input) ? ", not a list" : ", not an object";
  // A function or a symbol has no JSON.
  const shown: string | undefined =
    typeof input === "bigint" ? String(input) : JSON.stringify(input);
  if (shown === undefined) return "";
  return `, not ${shown.length > MAX_SHOWN ? `${shown.slice(0, MAX_SHOWN)}…` : shown}`;
}

function boundOf(issue: Issue, bound: number | bigint, words: [string, string]): string {
  const {
    origin,
    inclusive = true,
    input,
  } = issue as Issue & {
    origin?: string;
    inclusive?: boolean;
  };
  const [at, beyond] = words;
  if (origin === "string")
    return `must be ${at} ${counted(bound, "character")} long, not ${(input as string).length}`;
  if (origin === "array" || origin === "set")
    return `must hold ${at} ${counted(bound, "item")}, not ${(input as unknown[]).length}`;
  if (origin === "object" || origin === "record") return `must hold ${at} ${counted(bound, "key")}`;
  return `must be ${inclusive ? at : beyond} ${bound}${notThis(issue)}`;
}

const isEmpty = (input: unknown): boolean => input === "" || (input as unknown[])?.length === 0;

/** What is wrong with the field, without its name. */
export function faultOf(issue: Issue): string | undefined {
  switch (issue.code) {
    case "too_big":
      return boundOf(issue, issue.maximum, ["at most", "below"]);
    case "too_small":
      if (isEmpty(issue.input)) return "must not be empty";
      return boundOf(issue, issue.minimum, ["at least", "above"]);
    case "invalid_type":
      if (issue.input === undefined) return "is required";
      return `must be ${TYPES[issue.expected] ?? issue.expected}${notThis(issue)}`;
    case "invalid_value":
      return `must be ${issue.values.length === 1 ? "" : "one of "}${issue.values.map(String).join(", ")}${notThis(issue)}`;
    case "invalid_format":
      return `must be ${FORMATS[issue.format] ?? (issue.pattern ? `text of the form ${issue.pattern}` : `a valid ${issue.format}`)}${notThis(issue)}`;
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}${notThis(issue)}`;
    case "invalid_union":
      return "has none of the shapes allowed here";
    case "invalid_key":
      return "has a key that is not allowed";
    case "invalid_element":
      return "contains something that is not allowed";
    default:
      return undefined;
  }
}

/** How rules of our own begin: they leave the field out, because a schema does not know where it is used. */
const WITHOUT_FIELD = /^(?:must|is|has|needs|names|matches|cannot|or) /;

/** `message` as a sentence with its field: "must not be blank" of `items.3.code` is "items.3.code must not be blank". */
export function withField(message: string, path: readonly PropertyKey[]): string {
  if (path.length === 0 || !WITHOUT_FIELD.test(message)) return message;
  return `${path.map(String).join(".")} ${message}`;
}

/** One sentence for a broken rule: the field, the bound, and the value given instead. An error map for zod. */
export function issueWords(issue: Issue): string | undefined {
  const fault = faultOf(issue);
  return fault === undefined ? undefined : `${fieldOf(issue)} ${fault}`;
}
