import { isObject } from "#shared/kit/is-object.ts";
import { counted } from "#shared/kit/words.ts";
import type { Block } from "#shared/protocol/schema/block.ts";
import type { HttpCredentials } from "#shared/protocol/schema/http-credentials.ts";
import { linesOf } from "../../lib/lines.ts";

/**
 * Options of several values, as forms have them (rules/browser-options#the-options). Null: not set. What a person has not
 * filled in is absent, and the API says that it is missing.
 */

/** By the name of the option. */
export interface BrowserValues {
  viewport: { width?: number; height?: number };
  geolocation: { latitude?: number; longitude?: number; accuracy?: number };
  extra_headers: Record<string, string>;
  init_scripts: string[];
  http_credentials: Partial<HttpCredentials>;
  block: Block;
}
export type BrowserKind = keyof BrowserValues;
type Headers = BrowserValues["extra_headers"];

/** With one part set to what was typed; null once nothing is left. */
export function withPart<T extends object>(
  before: T | null,
  name: keyof T,
  value: T[keyof T] | undefined,
): T | null {
  const parts = Object.entries({ ...before, [name]: value }).filter(([, one]) => isSaid(one));
  return parts.length === 0 ? null : (Object.fromEntries(parts) as T);
}

const isSaid = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 : value !== undefined && value !== "" && value !== false;

/** A header for each line, `X-Name: value`. Of two lines with one name the later counts, as in a record. */
export function headersOf(text: string): Headers | null {
  const pairs = linesOf(text).map((line): [string, string] => {
    const colon = line.indexOf(":");
    return colon < 0 ? [line, ""] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
  });
  return pairs.length === 0 ? null : Object.fromEntries(pairs);
}

export const headersText = (headers: Headers | null): string =>
  Object.entries(headers ?? {})
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");

const isTexts = (raw: unknown): raw is string[] =>
  Array.isArray(raw) && raw.every((one) => typeof one === "string");

/** The parts of a record that are of their kind. */
function partsOf(raw: unknown, kinds: Record<string, (value: unknown) => boolean>): object | null {
  if (!isObject(raw)) return null;
  const parts = Object.entries(raw).filter(([name, value]) => kinds[name]?.(value));
  return parts.length === 0 ? null : Object.fromEntries(parts);
}

const isNumber = (value: unknown) => typeof value === "number";
const isText = (value: unknown) => typeof value === "string";
const isFlag = (value: unknown) => typeof value === "boolean";

const READERS: { [Kind in BrowserKind]: (raw: unknown) => BrowserValues[Kind] | null } = {
  viewport: (raw) => partsOf(raw, { width: isNumber, height: isNumber }),
  geolocation: (raw) =>
    partsOf(raw, { latitude: isNumber, longitude: isNumber, accuracy: isNumber }),
  extra_headers: (raw) =>
    isObject(raw) && isTexts(Object.values(raw)) && Object.keys(raw).length > 0
      ? (raw as Headers)
      : null,
  init_scripts: (raw) => (isTexts(raw) && raw.length > 0 ? raw : null),
  http_credentials: (raw) => partsOf(raw, { username: isText, password: isText, origin: isText }),
  block: (raw) => partsOf(raw, { ads: isFlag, types: isTexts, hosts: isTexts, patterns: isTexts }),
};

export const isBrowserKind = (kind: string): kind is BrowserKind => Object.hasOwn(READERS, kind);

/** A value of a record or an address as a form shows it; null when it shows no such value. */
export const browserValueOf = <Kind extends BrowserKind>(
  kind: Kind,
  raw: unknown,
): BrowserValues[Kind] | null => READERS[kind](raw);

/** "1280 × 720", for what holds while a field says nothing. */
export function browserValueText(kind: BrowserKind, raw: unknown): string {
  switch (kind) {
    case "viewport": {
      const { width, height } = browserValueOf(kind, raw) ?? {};
      return `${width} × ${height}`;
    }
    case "geolocation": {
      const { latitude, longitude } = browserValueOf(kind, raw) ?? {};
      return `${latitude}, ${longitude}`;
    }
    case "extra_headers":
      return Object.keys(browserValueOf(kind, raw) ?? {}).join(", ");
    case "init_scripts":
      return counted(browserValueOf(kind, raw)?.length ?? 0, "script");
    case "http_credentials":
      return browserValueOf(kind, raw)?.username ?? "";
    case "block":
      return Object.keys(browserValueOf(kind, raw) ?? {}).join(", ");
  }
}
