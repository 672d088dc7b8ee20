import { parseJson } from "#shared/kit/json.ts";

/**
 * What goes through the door of a sandbox: frames of `u32 header length, u32 body length, header, body`, both lengths big
 * endian, the header JSON, the body JSON or bytes. `guest/door.ts` writes and reads the same on its side.
 */
const PREFIX_BYTES = 8;

export interface DoorFrame {
  /** What it is; for a call its number, its operation and what belongs to that. */
  header: Record<string, unknown>;
  /** Null: it was longer than it may be, and has been skipped. */
  body: Uint8Array | null;
}

export interface FrameReader {
  /**
   * The frames that `chunk` completes, in order.
   * @throws when it is not a frame, because nothing after it can be understood.
   */
  push(chunk: Uint8Array): DoorFrame[];
}

/**
 * Holds one frame and never more of it than is allowed. Each part has a buffer of its length from the beginning, so that
 * bytes that come one by one cost no more than others.
 */
export function createFrameReader(limits: {
  header_bytes: number;
  bodyBytes: (header: Record<string, unknown>) => number;
}): FrameReader {
  let part: "prefix" | "header" | "body" | "skipped body" = "prefix";
  let target = Buffer.alloc(PREFIX_BYTES);
  let filled = 0;
  let wanted = PREFIX_BYTES;
  let body_length = 0;
  let header: Record<string, unknown> = {};

  const expect = (next: typeof part, length: number): void => {
    part = next;
    target = next === "skipped body" ? Buffer.alloc(0) : Buffer.allocUnsafe(length);
    filled = 0;
    wanted = length;
  };
  /** The frame that ends with the part that is complete now, if any. */
  const complete = (): DoorFrame | null => {
    if (part === "prefix") {
      const header_length = target.readUInt32BE(0);
      body_length = target.readUInt32BE(4);
      if (header_length > limits.header_bytes) throw new Error("the header of a frame is too long");
      expect("header", header_length);
      return null;
    }
    if (part === "header") {
      header = objectOf(target.toString());
      expect(body_length > limits.bodyBytes(header) ? "skipped body" : "body", body_length);
      return null;
    }
    const frame = { header, body: part === "body" ? target : null };
    expect("prefix", PREFIX_BYTES);
    return frame;
  };
  return {
    push: (chunk) => {
      const frames: DoorFrame[] = [];
      for (let at = 0; at < chunk.length; ) {
        const taken = Math.min(wanted - filled, chunk.length - at);
        if (part !== "skipped body") target.set(chunk.subarray(at, at + taken), filled);
        filled += taken;
        at += taken;
        // A part may be empty: then it is complete at once.
        while (filled === wanted) {
          const frame = complete();
          if (frame) frames.push(frame);
        }
      }
      return frames;
    },
  };
}

function objectOf(text: string): Record<string, unknown> {
  const value = parseJson(text);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error("a frame's header is not an object");
  return value as Record<string, unknown>;
}

export function writeFrame(header: object, body: Uint8Array | string): Buffer {
  const head = Buffer.from(JSON.stringify(header));
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(head.length, 0);
  prefix.writeUInt32BE(bytes.length, 4);
  return Buffer.concat([prefix, head, bytes]);
}
