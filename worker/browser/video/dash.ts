import { keySystemOf } from "./hls.ts";
import { VideoError } from "./video-settings.ts";

/** What we must know about a DASH manifest before passing it on. */
export interface DashManifest {
  live: boolean;
  duration_s: number | null;
  drm: string | null;
}

/** Seconds of an ISO 8601 duration of hours, minutes and seconds, with days at most. */
export function isoSeconds(text: string): number | null {
  const [all, days, hours, minutes, seconds] =
    /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?$/.exec(text) ?? [];
  if (!all) return null;
  const part = (value: string | undefined) => Number(value ?? 0);
  return ((part(days) * 24 + part(hours)) * 60 + part(minutes)) * 60 + part(seconds);
}

/** The root of an MPD has namespaces and times, and a ContentProtection an id. */
const MAX_TAG_CHARS = 64 * 1024;
const GT = ">".charCodeAt(0);
const QUOTES = [...`"'`].map((quote) => quote.charCodeAt(0));

/** Behind the first `>` that is not within quotes; 0 when there is none. */
function endOfTag(text: string, start: number): number {
  let quote = 0;
  for (let at = start; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (quote !== 0) quote = char === quote ? 0 : quote;
    else if (char === GT) return at + 1;
    else if (QUOTES.includes(char)) quote = char;
  }
  return 0;
}

function endOf(text: string, finish: string, start: number): number {
  const found = text.indexOf(finish, start);
  return found < 0 ? 0 : found + finish.length;
}

/** Behind the comment, the section, the instruction, the declaration or the tag that begins at `at`; 0 when it does not end. */
function endOfMarkup(text: string, at: number): number {
  switch (text.charAt(at + 1)) {
    case "!":
      if (text.startsWith("<!--", at)) return endOf(text, "-->", at + 4);
      if (text.startsWith("<![CDATA[", at)) return endOf(text, "]]>", at + 9);
      return endOf(text, ">", at);
    case "?":
      return endOf(text, "?>", at);
    case "/":
      return endOf(text, ">", at);
    default:
      return endOfTag(text, at);
  }
}

/** An opening tag, with its name without the prefix. */
const OPENING = /<(?:[\w.-]{1,64}:)?([\w.-]{1,64})/y;

/**
 * The opening tags of an XML document with their names, in time proportional to its length.
 * @throws VideoError when one does not end.
 */
function* openingTags(text: string): Generator<{ name: string; start: number; end: number }> {
  for (let start = text.indexOf("<"); start >= 0; ) {
    const end = endOfMarkup(text, start);
    if (end === 0) throw new VideoError("the manifest is malformed");
    OPENING.lastIndex = start;
    const name = OPENING.exec(text)?.[1];
    if (name !== undefined) yield { name, start, end };
    start = text.indexOf("<", end);
  }
}

/** @throws VideoError when there is more than an honest manifest has. */
function attributesOf(tag: string): Map<string, string> {
  if (tag.length > MAX_TAG_CHARS) throw new VideoError("the manifest names too much");
  const found = tag.matchAll(/\s([\w.:-]{1,64})\s*=\s*(?:"([^"]*)"|'([^']*)')/g);
  return new Map([...found].map(([, name = "", double, single]) => [name, double ?? single ?? ""]));
}

/**
 * Reads an MPD (ISO/IEC 23009-1), of which only the root and the descriptions of its protection are asked; null when the
 * text is not an MPD. What it says about segments, however many, costs nothing.
 * @throws VideoError when it is malformed.
 */
export function parseDash(text: string): DashManifest | null {
  let manifest: DashManifest | null = null;
  for (const { name, start, end } of openingTags(text)) {
    if (manifest === null) {
      if (name !== "MPD") return null;
      const root = attributesOf(text.slice(start, end));
      const length = root.get("mediaPresentationDuration");
      const duration_s = length === undefined ? null : isoSeconds(length);
      manifest = { live: root.get("type") === "dynamic", duration_s, drm: null };
    } else if (name === "ContentProtection" && (manifest.drm === null || manifest.drm === "DRM"))
      manifest.drm = keySystemOf([...attributesOf(text.slice(start, end)).values()].join(" "));
  }
  return manifest;
}
