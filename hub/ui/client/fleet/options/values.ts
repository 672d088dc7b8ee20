import { ApiError } from "../../lib/http.ts";
import { DEFAULTS, FIELDS, type OptionField, type Options, type OptionValue } from "./fields.ts";

const isValue = (value: unknown): value is OptionValue =>
  value === null || ["string", "number", "boolean"].includes(typeof value);

/** Those of a record's options that a form can show and that differ from their defaults. */
export function givenOf(options: Record<string, unknown>): Options {
  const given: Options = {};
  for (const { name } of FIELDS) {
    const value = options[name];
    if (value !== undefined && isValue(value) && value !== DEFAULTS[name]) given[name] = value;
  }
  return given;
}

/** With one option set; a value that holds without saying so is left out. */
export function withOption(
  given: Options,
  base: Options,
  name: string,
  value: OptionValue | undefined,
): Options {
  const { [name]: _before, ...rest } = given;
  return value === undefined || value === base[name] ? rest : { ...rest, [name]: value };
}

function valueIn({ kind }: OptionField, text: string): OptionValue {
  if (kind === "switch") return text === "true" || text === "1";
  return kind === "number" && Number.isFinite(Number(text)) ? Number(text) : text;
}

/** Options that an address names: `?scroll=true&goal=…`. */
export function optionsOfAddress(params: URLSearchParams): Options {
  const given: Options = {};
  for (const field of FIELDS) {
    const text = params.get(field.name);
    if (text) given[field.name] = valueIn(field, text);
  }
  return given;
}

export interface Issues {
  /** By the name of the option, or of another field of the body such as `url`. */
  fields: ReadonlyMap<string, string>;
  /** Issues that belong to no field. */
  rest: string | null;
}

export const NO_ISSUES: Issues = { fields: new Map(), rest: null };

/** What the API found wrong, at the fields of the form. */
export function issuesOf(error: unknown, fields: readonly string[]): Issues {
  if (error === null || error === undefined) return NO_ISSUES;
  if (!(error instanceof ApiError) || error.issues.length === 0)
    return { fields: new Map(), rest: error instanceof Error ? error.message : String(error) };
  const known = new Set([...fields, ...FIELDS.map(({ name }) => name)]);
  const found = new Map<string, string>();
  const rest: string[] = [];
  for (const { loc, msg } of error.issues) {
    const [, first, second] = loc.map(String);
    const name = first === "options" && second !== undefined ? second : (first ?? "");
    if (known.has(name)) found.set(name, [found.get(name), msg].filter(Boolean).join("; "));
    else rest.push(`${loc.slice(1).join(".")}: ${msg}`);
  }
  return { fields: found, rest: rest.length > 0 ? rest.join("\n") : null };
}
