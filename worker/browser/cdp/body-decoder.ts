/** Where a body goes, piece by piece. An error that `write` throws ends the read. */
export interface BodySink {
  /** The bytes are only valid during the call: their memory is reused. */
  write(bytes: Uint8Array): void;
  /** Discards what was written: the body comes again from its start. */
  restart(): void;
}

/**
 * The encoding of the answer cannot be determined as it arrives (text that looks like base64): read it again as a
 * whole.
 */
export class AmbiguousBodyError extends Error {
  constructor() {
    super("the body's encoding was not known before its end");
    this.name = "AmbiguousBodyError";
  }
}

export interface BodyDecoder {
  /** The raw bytes of the message, in order, cut anywhere. */
  feed(bytes: Buffer): void;
  /** Ends the message and returns the failure, if there was one. */
  end(): Error | null;
}

const QUOTE = 0x22;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * Decodes `{"id":1,"result":{"body":"…","base64Encoded":true},…}` while it arrives. The flag comes after the body, so
 * the first piece decides: nothing but base64 characters means base64, and a wrong guess is detected at the end.
 * @param prefix_length number of bytes before the body
 * @param is_base64 the body is base64, although no flag marks it
 */
export function createBodyDecoder(
  prefix_length: number,
  sink: BodySink,
  is_base64 = false,
): BodyDecoder {
  let skip = prefix_length;
  let mode: "unknown" | "base64" | "text" | "tail" = is_base64 ? "base64" : "unknown";
  let was: "base64" | "text" = "base64";
  let rest: Buffer = Buffer.alloc(0);
  let tail = "";
  let failure: Error | null = null;

  const finishBody = (after: Buffer) => {
    was = mode === "text" ? "text" : "base64";
    mode = "tail";
    tail = after.toString("latin1");
    rest = Buffer.alloc(0);
  };
  const feedBase64 = (bytes: Buffer) => {
    const end = bytes.indexOf(QUOTE);
    // The last group is held back until the end is seen: it may be the padded one.
    const length = end === -1 ? Math.max(0, Math.floor((bytes.length - 1) / 4) * 4) : end;
    const decoded = decodeBase64(bytes.toString("latin1", 0, length));
    // The decoder skips anything that is not base64, which then shows as too few bytes.
    if (decoded.length < Math.floor((length * 3) / 4) - 2) throw new AmbiguousBodyError();
    if (end === -1 && decoded.length !== (length * 3) / 4) throw new AmbiguousBodyError();
    sink.write(decoded);
    if (end !== -1) return finishBody(bytes.subarray(end + 1));
    rest = Buffer.from(bytes.subarray(length));
  };
  const feedText = (bytes: Buffer) => {
    const { cut, ended } = scanJsonText(bytes);
    const text = JSON.parse(`"${bytes.toString("utf8", 0, cut)}"`) as string;
    sink.write(Buffer.from(text, "utf8"));
    if (ended) return finishBody(bytes.subarray(cut + 1));
    rest = Buffer.from(bytes.subarray(cut));
  };
  const feedBody = (chunk: Buffer) => {
    const bytes = rest.length === 0 ? chunk : joined(rest, chunk);
    if (mode === "unknown") {
      const end = bytes.indexOf(QUOTE);
      const sample = bytes.toString("latin1", 0, end === -1 ? bytes.length : end);
      mode = BASE64.test(sample) ? "base64" : "text";
    }
    if (mode === "base64") feedBase64(bytes);
    else feedText(bytes);
  };
  return {
    feed: (bytes) => {
      if (failure) return;
      const skipped = Math.min(skip, bytes.length);
      skip -= skipped;
      const chunk = bytes.subarray(skipped);
      if (chunk.length === 0) return;
      try {
        if (mode === "tail") tail += chunk.toString("latin1");
        else feedBody(chunk);
      } catch (err) {
        failure = err instanceof Error ? err : new Error(String(err));
      }
    },
    end: () => {
      if (failure) return failure;
      if (mode !== "tail") return new AmbiguousBodyError();
      if (is_base64) return null;
      const told = /"base64Encoded":(true|false)/.exec(tail)?.[1];
      return told === (was === "base64" ? "true" : "false") ? null : new AmbiguousBodyError();
    },
  };
}

/** Joins a piece to the remainder of the previous one; the result is valid only within one call. */
let joint = Buffer.allocUnsafe(128 * 1024);

function joined(rest: Buffer, chunk: Buffer): Buffer {
  const length = rest.length + chunk.length;
  if (joint.length < length) joint = Buffer.allocUnsafe(length);
  rest.copy(joint);
  chunk.copy(joint, rest.length);
  return joint.subarray(0, length);
}

/** One buffer for all decoders: otherwise a gigabyte in pieces of 64 KB would produce a gigabyte of garbage. */
let scratch = Buffer.allocUnsafe(128 * 1024);

/**
 * Base64 text between two collections. Left to itself, the collector let a gigabyte of bodies grow the process by 75
 * to 112 MB; called this often, it keeps the growth to 43 to 47 MB, for 16 ms each time.
 */
const COLLECT_EVERY = 8 * 1024 * 1024;
let uncollected = 0;

function decodeBase64(text: string): Buffer {
  uncollected += text.length;
  if (uncollected >= COLLECT_EVERY) {
    uncollected = 0;
    Bun.gc(true);
  }
  if (scratch.length < text.length) scratch = Buffer.allocUnsafe(text.length);
  return scratch.subarray(0, scratch.write(text, "base64"));
}

/**
 * How far JSON string contents may be parsed without splitting an escape, a surrogate pair or a UTF-8 sequence;
 * `ended`: the closing quote is at `cut`.
 */
function scanJsonText(bytes: Buffer): { cut: number; ended: boolean } {
  let cut = 0;
  let high = false;
  for (let i = 0; i < bytes.length; ) {
    const byte = bytes[i] ?? 0;
    if (byte === QUOTE) return { cut: i, ended: true };
    if ((byte & 0xc0) !== 0x80 && !high) cut = i;
    if (byte !== 0x5c) {
      high = false;
      i += 1;
      continue;
    }
    const length = bytes[i + 1] === 0x75 ? 6 : 2;
    if (i + length > bytes.length) return { cut, ended: false };
    // \ud800 to \udbff is the first half of a pair.
    const half = length === 6 ? bytes.toString("latin1", i + 2, i + 4).toLowerCase() : "";
    high = half >= "d8" && half <= "db" && half.length === 2;
    i += length;
  }
  const last = bytes[bytes.length - 1] ?? 0;
  return { cut: high || last >= 0x80 ? cut : bytes.length, ended: false };
}
