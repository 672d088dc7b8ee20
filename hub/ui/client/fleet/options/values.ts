import type { FormErrors } from "@mantine/form";
import { RESOLUTION } from "#shared/protocol/limits.ts";
import { browserValueOf, isBrowserKind } from "./browser-values.ts";
import { DEFAULTS, FIELDS, type OptionField, type Options, type OptionValue } from "./fields.ts";
import { egressOf, proxyBody, proxyOf } from "./way-out.ts";

/** As the form has it; undefined when it can show no such value. */
function shownValue({ kind }: OptionField, raw: unknown): OptionValue | undefined {
  if (kind === "egress") return egressOf(raw);
  if (kind === "proxy") return proxyOf(raw);
  if (isBrowserKind(kind)) return browserValueOf(kind, raw);
  if (kind === "choices") return Array.isArray(raw) ? raw.map(String) : null;
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

/** Options as the API is sent them: of a page, a side that was not filled in is the screen's. */
export function optionsBody(given: Options): Record<string, unknown> {
  const proxy = proxyOf(given.proxy);
  const viewport = browserValueOf("viewport", given.viewport);
  return {
    ...given,
    ...(proxy && { proxy: proxyBody(proxy) }),
    ...(viewport && { viewport: { ...RESOLUTION, ...viewport } }),
  };
}

function valueIn(field: OptionField, text: string): OptionValue | undefined {
  const { kind } = field;
  if (kind === "switch" || kind === "yes-no") return text === "true" || text === "1";
  if (kind === "choices") return text.split(",");
  if (isBrowserKind(kind)) return browserValueOf(kind, jsonOf(text)) ?? undefined;
  if (kind === "proxy") return proxyOf(text);
  if (kind === "egress") return EGRESS_MODES.has(text) ? egressOf({ mode: text }) : undefined;
  return kind === "number" && Number.isFinite(Number(text)) ? Number(text) : text;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const EGRESS_MODES: ReadonlySet<string> = new Set(["open", "public", "listed"]);

/**
 * Options that an address names: `?scroll=true&goal=…`, of the egress its mode, `?egress=public`, and those of several
 * values as JSON, `?viewport={"width":800,"height":600}`.
 */
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

/**
 * Of the errors of a form whose body has its options below `options`, or below `at`. A fault within an option of several
 * values is the option's.
 */
export const issuesIn = (errors: FormErrors, at = "options"): Issues =>
  new Map(Object.entries(errors).map(([path, fault]) => [optionAt(path, at), String(fault)]));

/** The option that a path leads to, or into. */
function optionAt(path: string, at: string): string {
  const own = path.startsWith(`${at}.`) ? path.slice(at.length + 1) : path;
  return own.split(".")[0] ?? own;
}

/** The errors of options that differ, by their paths: they are no longer shown. `at` as in `issuesIn`. */
export function outdatedErrors(
  errors: FormErrors,
  before: Options,
  after: Options,
  at = "options",
): string[] {
  const isOutdated = (name: string) => !isSame(before[name] ?? null, after[name] ?? null);
  return Object.keys(errors).filter((path) => isOutdated(optionAt(path, at)));
}
