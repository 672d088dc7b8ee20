import { isObject } from "#shared/kit/is-object.ts";
import type { OneShotKind } from "./schema/one-shot.ts";

/**
 * The bodies of one-shot calls as clients of browserless and Steel send them, in the words of this API
 * (rules/one-shot-calls#spellings-of-others). What has no counterpart stays as it is, so that the schema refuses it by the name
 * that its caller knows.
 */

type Raw = Record<string, unknown>;
type Read = (value: unknown, out: Raw) => unknown;

/** Milliseconds; anything else is left to the schema. */
const inSeconds = (value: unknown): unknown => (typeof value === "number" ? value / 1_000 : value);

/** Sets a field unless the call has it already in this API's own words. */
function set(out: Raw, name: string, value: unknown): void {
  if (value !== undefined && !Object.hasOwn(out, name)) out[name] = value;
}

/** Reads each named field of `given`; what is left of it is returned, undefined when nothing is. */
function readFields(given: Raw, table: Record<string, Read>, out: Raw): Raw | undefined {
  const left: Raw = {};
  for (const [name, value] of Object.entries(given)) {
    const read = Object.hasOwn(table, name) ? table[name] : undefined;
    const rest = read ? read(value, out) : value;
    if (rest !== undefined) left[name] = rest;
  }
  return Object.keys(left).length === 0 ? undefined : left;
}

const as =
  (name: string, convert: (value: unknown) => unknown = (value) => value): Read =>
  (value, out) =>
    set(out, name, convert(value));
const ignored: Read = () => undefined;
/** Harmless while it is off. */
const onlyOff: Read = (value) => (value ? value : undefined);

/** Of several conditions the last one to come true. */
function loadState(value: unknown): unknown {
  const all = [value]
    .flat()
    .map((one) => (typeof one === "string" ? one.replace(/^networkidle[02]$/, "networkidle") : ""));
  const known = ["networkidle", "load", "domcontentloaded", "commit"];
  if (!all.every((one) => known.includes(one))) return value;
  return known.find((one) => all.includes(one));
}

const GOTO: Record<string, Read> = {
  waitUntil: as("wait_until", loadState),
  // For Puppeteer 0 means no limit.
  timeout: (value, out) => (value === 0 ? undefined : as("load_timeout_s", inSeconds)(value, out)),
  referer: as("referer"),
  referrerPolicy: onlyOff,
};

/** `{fn, polling, timeout}` and the like as an object of this API, or the text that stands for it. */
const waitOf =
  (name: string, table: Record<string, Read>): Read =>
  (value, out) => {
    if (!isObject(value)) return set(out, name, value);
    const wait: Raw = {};
    const left = readFields(value, { ...table, timeout: as("timeout_s", inSeconds) }, wait);
    set(out, name, Object.assign(wait, left));
  };

/** For Puppeteer an element has to be there, and to be seen only if that is asked for. */
const waitForSelector: Read = (value, out) => {
  const seen: Raw = {};
  const table = { selector: as("selector"), visible: as("visible"), hidden: as("hidden") };
  waitOf("wait_for_selector", table)(value, seen);
  const wait = seen.wait_for_selector;
  if (!isObject(wait)) return set(out, "wait_for_selector", wait);
  const { visible, hidden, ...rest } = wait;
  set(rest, "state", hidden ? "hidden" : visible ? "visible" : "attached");
  set(out, "wait_for_selector", rest);
};

const VIEWPORT: Record<string, Read> = {
  deviceScaleFactor: as("device_scale_factor"),
  isMobile: onlyOff,
  hasTouch: onlyOff,
  isLandscape: onlyOff,
};
const viewport: Read = (value, out) => {
  if (!isObject(value)) return value;
  const sizes: Raw = {};
  const left = readFields(value, VIEWPORT, sizes);
  out.viewport = Object.assign(sizes, left);
};

const ELEMENT: Record<string, Read> = { timeout: as("timeout_s", inSeconds) };
const elements: Read = (value, out) => {
  if (!Array.isArray(value)) return value;
  out.elements = value.map((element) => {
    if (!isObject(element)) return element;
    const own: Raw = {};
    return Object.assign(own, readFields(element, ELEMENT, own));
  });
};

/** Adds to what the call blocks, unless it says so in this API's own words. */
function blocking(out: Raw, name: string, value: unknown): void {
  const block = isObject(out.block) ? out.block : {};
  if (out.block !== undefined && !isObject(out.block)) return;
  set(block, name, value);
  out.block = block;
}
const rejectResourceTypes: Read = (value, out) => blocking(out, "types", value);
const blockAds: Read = (value, out) => {
  if (typeof value !== "boolean") return value;
  if (value) blocking(out, "ads", true);
};

/** Fields of every call. */
const OF_PAGES: Record<string, Read> = {
  gotoOptions: (value, out) => (isObject(value) ? readFields(value, GOTO, out) : value),
  waitForTimeout: as("wait_for_seconds", inSeconds),
  delay: as("wait_for_seconds", inSeconds),
  waitForFunction: waitOf("wait_for_function", { fn: as("code"), polling: ignored }),
  waitForSelector,
  waitForEvent: waitOf("wait_for_event", {}),
  bestAttempt: as("best_attempt"),
  setExtraHTTPHeaders: as("extra_headers"),
  setJavaScriptEnabled: as("javascript"),
  userAgent: as("user_agent"),
  authenticate: as("http_credentials"),
  rejectResourceTypes,
  blockAds,
  proxyUrl: as("proxy"),
  viewport,
};

const PICTURE: Record<string, Read> = {
  type: as("format"),
  fullPage: as("full_page"),
  omitBackground: as("omit_background"),
  captureBeyondViewport: ignored,
  fromSurface: ignored,
  optimizeForSpeed: ignored,
  encoding: (value) => (value === "binary" ? undefined : value),
};
const PRINT: Record<string, Read> = {
  printBackground: as("print_background"),
  pageRanges: as("page_ranges"),
  headerTemplate: as("header_template"),
  footerTemplate: as("footer_template"),
  preferCSSPageSize: as("prefer_css_page_size"),
  displayHeaderFooter: ignored,
  omitBackground: onlyOff,
  timeout: ignored,
};

/** `options` holds what Puppeteer's method takes. */
const withOptions = (table: Record<string, Read>): Record<string, Read> => ({
  ...table,
  options: (value, out) => {
    if (!isObject(value)) return value;
    const own: Raw = {};
    const left = readFields(value, table, own);
    for (const [name, field] of Object.entries(Object.assign(own, left))) set(out, name, field);
  },
});

/** More formats than the call names already; what is no list is left to the schema. */
function addFormats(out: Raw, where: "before" | "after", more: unknown[]): void {
  const { formats = [] } = out;
  if (!Array.isArray(formats)) return;
  out.formats = where === "before" ? [...more, ...formats] : [...formats, ...more];
}

/** Adds a format when it is wanted. */
const alsoAs =
  (format: string): Read =>
  (value, out) => {
    if (typeof value !== "boolean") return value;
    if (value) addFormats(out, "after", [format]);
  };

const OF_KIND: Record<OneShotKind, Record<string, Read>> = {
  screenshot: withOptions(PICTURE),
  pdf: withOptions(PRINT),
  content: {},
  markdown: {},
  links: {},
  scrape: {
    elements,
    format: (value, out) => addFormats(out, "before", [value].flat()),
    screenshot: alsoAs("screenshot"),
    pdf: alsoAs("pdf"),
  },
  evaluate: {},
};

/** Whether Chromium's own header and footer were switched off again. */
const noEdges = (raw: Raw): boolean =>
  [raw, raw.options].some((one) => isObject(one) && one.displayHeaderFooter === false);

/** The body of a call, whatever its client speaks; what is no object is left to the schema. */
export function inOwnWords(kind: OneShotKind, raw: unknown): unknown {
  if (!isObject(raw)) return raw;
  const table = { ...OF_PAGES, ...OF_KIND[kind] };
  const own = Object.fromEntries(
    Object.entries(raw).filter(([name]) => !Object.hasOwn(table, name)),
  );
  const left = readFields(
    Object.fromEntries(Object.entries(raw).filter(([name]) => Object.hasOwn(table, name))),
    table,
    own,
  );
  if (kind === "pdf" && noEdges(raw)) {
    delete own.header_template;
    delete own.footer_template;
  }
  return Object.assign(own, left);
}
