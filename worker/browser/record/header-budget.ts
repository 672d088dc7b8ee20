import type { Protocol } from "../cdp/connection.ts";

/** Characters of URLs and headers that are kept; beyond it entries have no headers. */
const MAX_TRACE_CHARS = 32_000_000;
/** Browsers refuse more than 256 KB of headers of one message; nobody reads values this long. */
const MAX_HEADER_CHARS = 8_192;

export type HeaderRecord = Readonly<Record<string, string>>;

/** Keeps headers as long as there is room for them. */
export interface HeaderBudget {
  /** Cuts long values in place; returns nothing once the room is used up. */
  keep(headers: Protocol.Network.Headers): HeaderRecord;
  /** Other text uses the same room. */
  charge(chars: number): void;
}

export function createHeaderBudget(): HeaderBudget {
  let chars = 0;
  return {
    charge: (more) => {
      chars += more;
    },
    keep: (headers) => {
      const size = cutHeaders(headers);
      if (chars + size > MAX_TRACE_CHARS) return {};
      chars += size;
      return headers;
    },
  };
}

/** Cuts long values in place. @returns the number of characters that are left. */
function cutHeaders(headers: Protocol.Network.Headers): number {
  let size = 0;
  for (const [name, value] of Object.entries(headers)) {
    if (value.length > MAX_HEADER_CHARS) headers[name] = value.slice(0, MAX_HEADER_CHARS);
    size += name.length + Math.min(value.length, MAX_HEADER_CHARS);
  }
  return size;
}

/** A message whose headers are longer is kept without them where requests are noted for hours. */
const MAX_NOTED_CHARS = 32_768;

/** Keeps the headers of each message by itself, because it is let go soon. */
export const keepNoted: HeaderBudget["keep"] = (headers) =>
  cutHeaders(headers) > MAX_NOTED_CHARS ? {} : headers;
