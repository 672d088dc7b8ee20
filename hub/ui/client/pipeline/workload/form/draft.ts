import { workloadDefaults } from "./defaults-macro.ts" with { type: "macro" };
import { ALL_FIELDS, type Field } from "./fields.ts";

/** The contents of the fields, by their paths. */
export type Draft = Record<string, string | boolean>;
export type Errors = Record<string, string>;

/** What the API fills in itself. */
export const DEFAULTS = workloadDefaults();

type Tree = Record<string, unknown>;
const at = (tree: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((value, key) => (value as Tree | null | undefined)?.[key], tree);

function textOf({ kind }: Field, value: unknown): string | boolean {
  if (kind === "switch") return Boolean(value);
  if (value === null || value === undefined) return "";
  if (kind === "json") return JSON.stringify(value, null, 2);
  if (kind === "lines") return (value as string[]).join("\n");
  if (kind === "env")
    return Object.entries(value as Record<string, string>)
      .map(([name, text]) => `${name}=${text}`)
      .join("\n");
  return String(value);
}

export const draftOf = (workload: unknown): Draft =>
  Object.fromEntries(
    ALL_FIELDS.map((field) => [field.path, textOf(field, at(workload, field.path))]),
  );

const LEFT_OUT = Symbol("left out");

function numberOf({ kind, min, max }: Field, text: string): number {
  const value = Number(text);
  if (Number.isNaN(value) || (kind === "int" && !Number.isInteger(value)))
    throw new Error(kind === "int" ? "must be a whole number" : "must be a number");
  if ((min !== undefined && value < min) || (max !== undefined && value > max))
    throw new Error(`must be ${min} to ${max}`);
  return value;
}

function objectOf(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (err) {
    throw new Error(`is not JSON: ${(err as Error).message}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error('must be a JSON object: {"…": …}');
  return value;
}

function envOf(text: string): unknown {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const sign = line.indexOf("=");
      if (sign < 1) throw new Error(`“${line}” is not NAME=value`);
      return [line.slice(0, sign).trim(), line.slice(sign + 1)];
    }),
  );
}

function fieldValue(field: Field, given: string | boolean): unknown {
  if (typeof given === "boolean") return given;
  const { kind, optional, path } = field;
  // Arguments of a command may be blank lines; of the other lists they mean nothing.
  const blank = given.trim() === "";
  if (kind === "lines" && !path.includes("."))
    return given
      .split("\n")
      .map((one) => one.trim())
      .filter(Boolean);
  if (blank && path === "description") return "";
  if (blank && optional) return path.includes(".") ? LEFT_OUT : null;
  if (kind === "lines") return given.split("\n");
  if (kind === "json") return objectOf(given);
  if (kind === "env") return envOf(given);
  if (kind === "int" || kind === "number") {
    if (blank) throw new Error("is needed");
    return numberOf(field, given);
  }
  if (blank) throw new Error("is needed");
  return given;
}

/** Whether the field is one of the executor that is chosen. */
export const isOf = (field: Field, draft: Draft): boolean =>
  field.of?.includes(String(draft.executor_type)) ?? true;

/** The body of PUT /workloads/{slug}, or what is wrong with each field. */
export function bodyOf(draft: Draft): { body: Tree; errors: Errors } {
  const body: Tree = { executor_config: {} };
  const errors: Errors = {};
  for (const field of ALL_FIELDS) {
    if (!isOf(field, draft)) continue;
    try {
      const value = fieldValue(field, draft[field.path] ?? "");
      if (value === LEFT_OUT) continue;
      const [first = "", second] = field.path.split(".");
      if (second === undefined) body[first] = value;
      else body[first] = { ...(body[first] as Tree | undefined), [second]: value };
    } catch (err) {
      errors[field.path] = (err as Error).message;
    }
  }
  const limit = body.rate_limit as Tree | undefined;
  body.rate_limit ??= null;
  if (limit !== undefined && Object.keys(limit).length === 1)
    errors[limit.count === undefined ? "rate_limit.count" : "rate_limit.per_s"] =
      "is needed: a rate limit has both";
  return { body, errors };
}
