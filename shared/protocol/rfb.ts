/** The remote framebuffer protocol (RFC 6143 and its registered extensions), as far as hub and worker both need it. */

/** The other side's bytes are not RFB, or ask for something not offered here. */
export class RfbError extends Error {
  override name = "RfbError";
}

/** Messages of a client. */
export const CLIENT = {
  set_pixel_format: 0,
  set_encodings: 2,
  update_request: 3,
  key: 4,
  pointer: 5,
  cut_text: 6,
  continuous_updates: 150,
  fence: 248,
  xvp: 250,
  set_desktop_size: 251,
  qemu: 255,
} as const;

/** Larger than any useful clipboard. */
const MAX_CUT_TEXT_BYTES = 16 * 1024 * 1024;
const MAX_FENCE_BYTES = 64;

interface Shape {
  /** Bytes after which the length is known. */
  head: number;
  /** Refuses what no such message begins with, before its head is whole. */
  check?(head: Buffer): void;
  /** Length of the whole message. */
  length(head: Buffer): number;
}

const fixed = (length: number): Shape => ({ head: 1, length: () => length });

/** A negative length is the extended clipboard's. */
function cutTextLength(head: Buffer): number {
  const length = Math.abs(head.readInt32BE(4));
  if (length > MAX_CUT_TEXT_BYTES)
    throw new RfbError(`clipboard text is at most ${MAX_CUT_TEXT_BYTES} bytes`);
  return 8 + length;
}

function fenceLength(head: Buffer): number {
  const length = head[8] ?? 0;
  if (length > MAX_FENCE_BYTES) throw new RfbError("the fence's payload is too long");
  return 9 + length;
}

function checkQemu(head: Buffer): void {
  if (head.length > 1 && head[1] !== 0) throw new RfbError(`unknown QEMU message ${head[1]}`);
}

const SHAPES: Record<number, Shape> = {
  [CLIENT.set_pixel_format]: fixed(20),
  [CLIENT.set_encodings]: { head: 4, length: (b) => 4 + 4 * b.readUInt16BE(2) },
  [CLIENT.update_request]: fixed(10),
  // What happened is known with the head: whether a key went down, but not which; the pointer's buttons and place.
  [CLIENT.key]: { head: 2, length: () => 8 },
  // The highest bit marks the longer form for mice with more buttons.
  [CLIENT.pointer]: { head: 6, length: (b) => ((b[1] ?? 0) & 0x80 ? 7 : 6) },
  [CLIENT.cut_text]: { head: 8, length: cutTextLength },
  [CLIENT.continuous_updates]: fixed(10),
  [CLIENT.fence]: { head: 9, length: fenceLength },
  [CLIENT.xvp]: fixed(4),
  [CLIENT.set_desktop_size]: { head: 8, length: (b) => 8 + 16 * (b[6] ?? 0) },
  [CLIENT.qemu]: { head: 4, check: checkQemu, length: () => 12 },
};

/**
 * Length of the client message that begins with `head`; while that is unknown, the number of bytes needed to tell, as
 * `{ need }`. @throws RfbError for a message that does not exist.
 */
export function clientMessageLength(head: Buffer): number | { need: number } {
  const [type] = head;
  if (type === undefined) return { need: 1 };
  const shape = SHAPES[type];
  if (!shape) throw new RfbError(`unknown message ${type}`);
  shape.check?.(head);
  return head.length < shape.head ? { need: shape.head } : shape.length(head);
}

/**
 * The encoding in which a server sends the size of its screen, and by which a client declares that it understands that.
 */
export const EXTENDED_DESKTOP_SIZE = -308;

/** Parts of the handshake before the messages. Security `vnc` is followed by a 16-byte answer. */
export const SECURITY = { none: 1, vnc: 2 } as const;
export const VERSION_BYTES = 12;
export const isVersion = (bytes: Buffer): boolean =>
  /^RFB 003\.00[78]\n$/.test(bytes.toString("latin1"));
