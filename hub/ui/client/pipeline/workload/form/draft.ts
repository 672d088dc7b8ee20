import { EXECUTORS } from "#shared/protocol/executors.ts";
import type { Faults } from "../../../forms/faults.ts";
import { ALL_FIELDS, type Field, kindOf, mayBeEmpty, RULES, rulesAt } from "./fields.ts";

type Tree = Record<string, unknown>;
/** The contents of the fields, laid out as the body is: texts, and switches. */
export type Draft = Tree;

const at = (tree: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((value, key) => (value as Tree | null | undefined)?.[key], tree);

function put(tree: Tree, path: string, value: unknown): void {
  const [first = "", second] = path.split(".");
  if (second === undefined) tree[first] = value;
  else tree[first] = { ...(tree[first] as Tree | undefined), [second]: value };
}

/** What the API fills in itself. */
export const DEFAULTS: Tree = {};
for (const [path, { default: value }] of Object.entries(RULES))
  if (value !== undefined) put(DEFAULTS, path, value);

function textOf(field: Field, value: unknown): string | boolean {
  const kind = kindOf(field);
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

export function draftOf(workload: unknown): Draft {
  const draft: Draft = {};
  for (const field of ALL_FIELDS) put(draft, field.path, textOf(field, at(workload, field.path)));
  return draft;
}

function numberIn(field: Field, text: string): number {
  const value = Number(text);
  if (Number.isNaN(value))
    throw new Error(rulesAt(field).integer ? "must be a whole number" : "must be a number");
  return value;
}

/** @throws Error that says what to correct */
export function objectIn(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (err) {
    throw new Error(`is not JSON: ${(err as Error).message}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error('must be a JSON object: {"…": …}');
  return value as Record<string, unknown>;
}

function envIn(text: string): unknown {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const sign = line.indexOf("=");
      if (sign < 1) throw new Error(`“${line}” is not NAME=value`);
      return [line.slice(0, sign).trim(), line.slice(sign + 1)];
    }),
  );
}

/** What an empty field says: null where there is a null, else the empty text or nothing. */
function emptyOf(field: Field): unknown {
  const { nullable, default: fallback } = rulesAt(field);
  if (!mayBeEmpty(field)) throw new Error("is required");
  if (nullable) return null;
  return fallback === "" ? "" : undefined;
}

/** Undefined: the body leaves it out. */
function valueIn(field: Field, given: unknown): unknown {
  // A switch without a default is something that its executor's plugin may switch on.
  if (given === false && rulesAt(field).default === undefined) return undefined;
  if (typeof given !== "string") return given;
  const kind = kindOf(field);
  // Arguments of a command may be blank lines; in the other lists they mean nothing.
  if (kind === "lines" && !field.path.includes("."))
    return given
      .split("\n")
      .map((one) => one.trim())
      .filter(Boolean);
  if (given.trim() === "") return emptyOf(field);
  if (kind === "lines") return given.split("\n");
  if (kind === "json") return objectIn(given);
  if (kind === "env") return envIn(given);
  return kind === "number" ? numberIn(field, given) : given;
}

const CONFIG = "executor_config.";
const KINDS: Record<string, { takes: readonly string[] }> = EXECUTORS;
/** Keys of the configuration that only some kinds of executor take. */
const SPECIAL = new Set(Object.values(KINDS).flatMap(({ takes }) => takes));

/** Whether the field is one of the executor that is chosen. */
export function isOf({ path }: Field, { executor_type }: Draft): boolean {
  const key = path.startsWith(CONFIG) ? path.slice(CONFIG.length) : "";
  return !SPECIAL.has(key) || KINDS[String(executor_type)]?.takes.includes(key) === true;
}

/** The body of PUT /workloads/{slug}, and which fields cannot be read. */
export function readDraft(draft: Draft): { body: Tree; faults: Faults } {
  const body: Tree = { executor_config: {}, rate_limit: null };
  const faults: Faults = {};
  for (const field of ALL_FIELDS) {
    if (!isOf(field, draft)) continue;
    try {
      const value = valueIn(field, at(draft, field.path));
      if (value !== undefined) put(body, field.path, value);
    } catch (err) {
      faults[field.path] = (err as Error).message;
    }
  }
  return { body, faults };
}
