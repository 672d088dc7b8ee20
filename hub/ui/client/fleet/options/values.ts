import type { FormErrors } from "@mantine/form";
import { DEFAULTS, FIELDS, type OptionField, type Options, type OptionValue } from "./fields.ts";
import { egressOf, proxyOf } from "./way-out.ts";

/** As the form has it; undefined when it can show no such value. */
function shownValue({ kind }: OptionField, raw: unknown): OptionValue | undefined {
  if (kind === "egress") return egressOf(raw);
  if (kind === "proxy") return proxyOf(raw);
  const shows = raw === null || ["string", "number", "boolean"].includes(typeof raw);
  return shows ? (raw as OptionValue) : undefined;
}

/** Those of a record's options that a form can show and that differ from their defaults. */
export function givenOf(options: Record<string, unknown>): Options {
  const given: Options = {};
  for (const field of FIELDS) {
    const raw = options[field.name];
    const value = raw === undefined ? undefined : shownValue(field, raw);
    if (value !== undefined && !isSame(value, DEFAULTS[field.name])) given[field.name] = value;
  }
  return given;
}

/** Structured values are made with their keys in one order. */
const isSame = (one: OptionValue, other: OptionValue | undefined): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/** With one option set; a value that holds without saying so is left out. */
export function withOption(
  given: Options,
  base: Options,
  name: string,
  value: OptionValue | undefined,
): Options {
  const { [name]: _before, ...rest } = given;
  return value === undefined || isSame(value, base[name] ?? null)
    ? rest
    : { ...rest, [name]: value };
}

function valueIn(field: OptionField, text: string): OptionValue | undefined {
  const { kind } = field;
  if (kind === "switch") return text === "true" || text === "1";
  if (kind === "proxy") return proxyOf(text);
  if (kind === "egress") return EGRESS_MODES.has(text) ? egressOf({ mode: text }) : undefined;
  return kind === "number" && Number.isFinite(Number(text)) ? Number(text) : text;
}

const EGRESS_MODES: ReadonlySet<string> = new Set(["open", "public", "listed"]);

/** Options that an address names: `?scroll=true&goal=…`, and of the egress its mode: `?egress=public`. */
export function optionsOfAddress(params: URLSearchParams): Options {
  const given: Options = {};
  for (const field of FIELDS) {
    const text = params.get(field.name);
    const value = text ? valueIn(field, text) : undefined;
    if (value !== undefined) given[field.name] = value;
  }
  return given;
}

/** What is wrong, by the name of the option, or of another field of the form such as `url`. */
export type Issues = ReadonlyMap<string, string>;
export const NO_ISSUES: Issues = new Map();

/** Of the errors of a form whose body has its options below `options`. */
export const issuesIn = (errors: FormErrors): Issues =>
  new Map(
    Object.entries(errors).map(([path, fault]) => [path.replace(/^options\./, ""), String(fault)]),
  );

/** The paths of options that differ: their errors are no longer shown. */
export const changedPaths = (before: Options, after: Options): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => !isSame(before[name] ?? null, after[name] ?? null))
    .map((name) => `options.${name}`);
