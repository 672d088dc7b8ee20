/**
 * Levels of arrays and objects in anything that is parsed: a value of `MAX_JSON_DEPTH` levels plus what it is wrapped
 * in. Parsers, schemas and serialisers recurse: 800 KB of `[` blocked a hub for 17 s.
 */
export const MAX_NESTING = 512;

const utf8 = new TextEncoder();
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING_BRACKET = 0x5b;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACKET = 0x5d;
const CLOSING_BRACE = 0x7d;

/** Bytes of a string that are looked at one by one before its end is searched for: for keys a search costs more than it saves. */
const NEAR = 24;

/** Where the string ends whose first byte after the quote is at `from`. No byte of a longer character is a quote or a backslash. */
function endOfString(bytes: Uint8Array, from: number): number {
  const { length } = bytes;
  let at = from;
  while (at < length) {
    const near = Math.min(at + NEAR, length);
    for (; at < near; at += 1) {
      if (bytes[at] === QUOTE) return at;
      if (bytes[at] === BACKSLASH) at += 1;
    }
    const quote = bytes.indexOf(QUOTE, at);
    if (quote === -1) return length;
    let unescaped = quote;
    while (unescaped > at && bytes[unescaped - 1] === BACKSLASH) unescaped -= 1;
    if ((quote - unescaped) % 2 === 0) return quote;
    at = quote + 1;
  }
  return length;
}

/**
 * Whether no more than `most` arrays and objects begin, so that they cannot be nested deeper. Most bodies have few, and
 * the engine's search finds them in a third of the time that the levels take.
 */
function opensAtMost(bytes: Uint8Array, most: number): boolean {
  let left = most;
  for (const opening of [OPENING_BRACKET, OPENING_BRACE])
    for (let at = bytes.indexOf(opening); at !== -1; at = bytes.indexOf(opening, at + 1)) {
      if (left === 0) return false;
      left -= 1;
    }
  return true;
}

/**
 * Whether JSON has more than `most` levels, judged by its bytes before parsing; it stops at the first level too many.
 * It takes less time than parsing does. For text that is not JSON either answer is right: its
 * parser refuses it.
 */
export function isNestedDeeper(json: Uint8Array | string, most = MAX_NESTING): boolean {
  // A level takes at least one character.
  if (json.length <= most) return false;
  const bytes = typeof json === "string" ? utf8.encode(json) : json;
  if (opensAtMost(bytes, most)) return false;
  const { length } = bytes;
  let depth = 0;
  for (let i = 0; i < length; i += 1) {
    const byte = bytes[i];
    if (byte === QUOTE) i = endOfString(bytes, i + 1);
    else if (byte === OPENING_BRACKET || byte === OPENING_BRACE) {
      depth += 1;
      if (depth > most) return true;
    } else if (byte === CLOSING_BRACKET || byte === CLOSING_BRACE) depth -= 1;
  }
  return false;
}

const deeperThan = (most: number): string => `is nested more than ${most} levels deep`;
export const NESTED_DEEPER = deeperThan(MAX_NESTING);

/** `JSON.parse` for what others send. @throws SyntaxError for text that is not JSON or is nested too deeply. */
export function parseJson(text: string, most = MAX_NESTING): unknown {
  if (isNestedDeeper(text, most)) throw new SyntaxError(`it ${deeperThan(most)}`);
  return JSON.parse(text);
}
