import { MASK } from "./hide-credentials.ts";

/** A piece of a base64 text says too little when it is shorter, and may stand anywhere. */
const MIN_BASE64 = 8;

const HTML: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
const html = (text: string): string => text.replace(/[&<>]/g, (char) => HTML[char] ?? char);

/** `%2F` as `%2f`: both are written. */
const lowerHex = (text: string): string =>
  text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());

const escapedUnits = (text: string): string =>
  text.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/**
 * The characters of a base64 text that the value alone decides, wherever in the encoded text it begins: a password of
 * Basic authentication stands behind its user name.
 */
function base64Forms(value: string): string[] {
  const bytes = Buffer.from(value);
  const whole = bytes.toString("base64").replace(/=+$/, "");
  const inside = [0, 1, 2].map((shift) => {
    const from = Math.ceil((shift * 8) / 6);
    const to = Math.floor(((shift + bytes.length) * 8) / 6);
    return Buffer.concat([Buffer.alloc(shift), bytes])
      .toString("base64")
      .slice(from, to);
  });
  const long = inside.filter(({ length }) => length >= MIN_BASE64);
  return [whole, ...long].flatMap((text) => [
    text,
    text.replaceAll("+", "-").replaceAll("/", "_"),
    encodeURIComponent(text),
  ]);
}

/**
 * The spellings in which a secret can stand in a text: as it is, percent-encoded as a part of a URL and as a form sends
 * it, in JSON, in HTML, and in base64, also of URLs. Each is there once, the longest first. None of an empty value.
 */
export function secretForms(value: string): string[] {
  if (value === "") return [];
  const sound = value.toWellFormed();
  const json = JSON.stringify(value).slice(1, -1);
  const encoded = [
    encodeURIComponent(sound),
    encodeURI(sound),
    new URLSearchParams([["", sound]]).toString().slice(1),
  ];
  const forms = [
    value,
    ...encoded.flatMap((text) => [text, lowerHex(text)]),
    ...[json, escapedUnits(json)].flatMap((text) => [text, text.replaceAll("/", "\\/")]),
    html(value),
    ...["&#39;", "&#x27;", "&apos;"].map((quote) =>
      html(value).replaceAll('"', "&quot;").replaceAll("'", quote),
    ),
    ...base64Forms(sound),
  ];
  return longestFirst(forms);
}

const longestFirst = (texts: Iterable<string>): string[] =>
  [...new Set(texts)].sort((a, b) => b.length - a.length);

export interface Mask {
  text(raw: string): string;
  /** For text that arrives in pieces: holds back what may be the beginning of a secret. */
  stream(out: (piece: string) => void): { push(piece: string): void; end(): void };
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/**
 * Puts `***` in place of every secret, in whatever spelling it stands.
 * @param shortest values that are shorter stay: they would take every second word with them.
 */
export const createMask = (secrets: Iterable<string>, { shortest = 1 } = {}): Mask =>
  maskOf([...new Set(secrets)].filter(({ length }) => length >= shortest).flatMap(secretForms));

/** The same for these texts alone, in no other spelling. */
export function maskOf(texts: readonly string[]): Mask {
  // The longest first: one may be the beginning of another, whose end would stay.
  const needles = longestFirst(texts.filter((text) => text !== ""));
  if (needles.length === 0) return NOTHING;
  const longest = needles[0]?.length ?? 1;
  const any = new RegExp(needles.map(escaped).join("|"), "g");
  const text = (raw: string): string => raw.replace(any, MASK);
  return { text, stream: (out) => streamOf(any, longest, out) };
}

const NOTHING: Mask = {
  text: (raw) => raw,
  stream: (out) => ({ push: out, end: () => {} }),
};

function streamOf(any: RegExp, longest: number, out: (piece: string) => void) {
  let held = "";
  /** Gives out what begins before `most`: nothing that is still to come changes it. */
  const give = (most: number): void => {
    let ready = "";
    let at = 0;
    for (const match of held.matchAll(any)) {
      if (match.index >= most) break;
      ready += held.slice(at, match.index) + MASK;
      at = match.index + match[0].length;
    }
    if (at < most) ready += held.slice(at, most);
    held = held.slice(Math.max(at, most));
    if (ready !== "") out(ready);
  };
  return {
    push: (piece: string) => {
      held += piece;
      give(Math.max(0, held.length - longest + 1));
    },
    end: () => give(held.length),
  };
}
