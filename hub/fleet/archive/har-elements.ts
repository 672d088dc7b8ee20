import { ArchiveError } from "#shared/archive/archive-error.ts";
import type { Chunks } from "#shared/archive/streams.ts";
import { parseJson } from "#shared/kit/json.ts";

/** A HAR has up to 20,000 entries and may be 256 MiB long; one of them is held at a time. */
const MAX_ELEMENT_BYTES = 64 * 1024 * 1024;
/** Depth of the members of `log`, and of what their lists hold. */
const MEMBER_DEPTH = 2;
const ELEMENT_DEPTH = 3;

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN, CLOSE] = [...'"\\[]{}'].map((c) =>
  c.charCodeAt(0),
);

export interface HarElement {
  /** The member of `log` that it is in: `pages` or `entries`. */
  list: string;
  value: unknown;
}

/**
 * The pages and entries of a HAR as they come in, in their order.
 * @throws ArchiveError when it is no JSON, or one of them is too long.
 */
export async function* harElements(chunks: Chunks): AsyncGenerator<HarElement> {
  const scan = createScan();
  for await (const chunk of chunks) yield* scan.elements(chunk);
  if (!scan.isOver()) throw new ArchiveError("the HAR is not complete");
}

function createScan() {
  let depth = 0;
  let in_string = false;
  let escaped = false;
  /** The last string that began as a member of `log`: in front of a list, its name. */
  let name: number[] = [];
  /** Pieces of the element that is open. */
  let parts: Uint8Array[] | null = null;
  let held = 0;

  const inString = (byte: number) => {
    if (escaped) escaped = false;
    else if (byte === BACKSLASH) escaped = true;
    else if (byte === QUOTE) in_string = false;
    // No member of `log` that matters is this long.
    if (in_string && depth === MEMBER_DEPTH && name.length < 64) name.push(byte);
  };
  const beginString = () => {
    in_string = true;
    if (depth === MEMBER_DEPTH) name = [];
  };
  const keep = (bytes: Uint8Array) => {
    if (!parts || bytes.length === 0) return;
    held += bytes.length;
    if (held > MAX_ELEMENT_BYTES) throw new ArchiveError("an entry of the HAR is too long");
    parts.push(bytes);
  };
  const finish = (): HarElement => {
    const text = Buffer.concat(parts ?? []).toString("utf8");
    parts = null;
    held = 0;
    return { list: String.fromCharCode(...name), value: parse(text) };
  };
  function* elements(chunk: Uint8Array): Generator<HarElement> {
    let from = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (in_string) inString(byte);
      else if (byte === QUOTE) beginString();
      else if (byte === OPEN || byte === OPEN_LIST) {
        if (depth === ELEMENT_DEPTH && byte === OPEN) {
          parts = [];
          from = at;
        }
        depth += 1;
      } else if (byte === CLOSE || byte === CLOSE_LIST) {
        depth -= 1;
        if (depth !== ELEMENT_DEPTH || !parts) continue;
        keep(chunk.subarray(from, at + 1));
        yield finish();
      }
    }
    // The store may use the chunk's memory again.
    if (parts) keep(chunk.slice(from));
  }
  return { elements, isOver: () => depth === 0 && !in_string };
}

function parse(text: string): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    throw new ArchiveError("the HAR is not JSON", { cause });
  }
}
