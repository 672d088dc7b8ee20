/** What a viewer says to a VNC server (RFC 6143 §7), message by message, without holding more than a header. */

/** The viewer's bytes are not RFB, or ask for what no server here offers. */
export class RfbError extends Error {
  override name = "RfbError";
}

export interface RfbFilter {
  /**
   * Takes the next bytes, cut anywhere. `forward`: what the server may see of them, in order. `input`: whether a key or
   * pointer message began in them. @throws RfbError
   */
  push(chunk: Uint8Array): { forward: Uint8Array[]; input: boolean };
}

/** Ours: larger than any clipboard that is of use. */
const MAX_CUT_TEXT_BYTES = 16 * 1024 * 1024;
const MAX_FENCE_BYTES = 64;

const KEY = 4;
const POINTER = 5;
const CUT_TEXT = 6;
const SET_DESKTOP_SIZE = 251;
const QEMU = 255;
const XVP = 250;

interface Kind {
  /** Bytes after which the length is known. */
  head: number;
  /** Length of the whole message. */
  length(head: Buffer): number;
  /** Changes what the others see or what the page gets: dropped for those who may only watch. */
  acts: boolean;
}

const fixed = (length: number, acts = false): Kind => ({ head: 1, length: () => length, acts });

const KINDS: Record<number, Kind> = {
  0: fixed(20), // SetPixelFormat
  2: { head: 4, length: (b) => 4 + 4 * b.readUInt16BE(2), acts: false }, // SetEncodings
  3: fixed(10), // FramebufferUpdateRequest
  [KEY]: fixed(8, true),
  // The highest bit marks the longer form for mice with more buttons.
  [POINTER]: { head: 2, length: (b) => ((b[1] ?? 0) & 0x80 ? 7 : 6), acts: true },
  [CUT_TEXT]: { head: 8, length: cutTextLength, acts: true },
  150: fixed(10), // EnableContinuousUpdates
  248: { head: 9, length: fenceLength, acts: false }, // ClientFence
  [XVP]: fixed(4, true),
  [SET_DESKTOP_SIZE]: { head: 8, length: (b) => 8 + 16 * (b[6] ?? 0), acts: true },
  [QEMU]: { head: 2, length: qemuLength, acts: true },
};

/** A negative length is the extended clipboard's. */
function cutTextLength(head: Buffer): number {
  const length = Math.abs(head.readInt32BE(4));
  if (length > MAX_CUT_TEXT_BYTES)
    throw new RfbError(`clipboard text is at most ${MAX_CUT_TEXT_BYTES} bytes`);
  return 8 + length;
}

function fenceLength(head: Buffer): number {
  const length = head[8] ?? 0;
  if (length > MAX_FENCE_BYTES) throw new RfbError("fence with too long a payload");
  return 9 + length;
}

function qemuLength(head: Buffer): number {
  if (head[1] !== 0) throw new RfbError(`unknown QEMU message ${head[1]}`);
  return 12;
}

const isInput = (type: number): boolean => type === KEY || type === POINTER || type === QEMU;

/** What is being read: the parts of the handshake, then messages. */
type Step = "version" | "security" | "password" | "init" | "message";
const HANDSHAKE: Record<Exclude<Step, "message">, number> = {
  version: 12,
  security: 1,
  password: 16,
  init: 1,
};
const SECURITY = { none: 1, vnc: 2 } as const;

/** Follows one viewer from its first byte (fleet spec §4.2, view_only). Pure: no clock, no sockets. */
export function createRfbFilter(view_only: boolean): RfbFilter {
  let step: Step = "version";
  let head: Buffer = Buffer.alloc(0);
  /** Bytes of the current message that are still to come, once its length is known. */
  let left = 0;
  let dropping = false;

  /** The bytes with which the header can be judged. */
  const wanted = (): number => {
    if (step !== "message") return HANDSHAKE[step];
    const [type] = head;
    if (type === undefined) return 1;
    const kind = KINDS[type];
    if (!kind) throw new RfbError(`unknown message ${type}`);
    return kind.head;
  };

  /** The handshake's next part is whole in `head`; true when the server gets it as it is. */
  const shake = (): void => {
    switch (step) {
      case "version":
        if (!/^RFB 003\.00[78]\n$/.test(head.toString("latin1")))
          throw new RfbError("only RFB 3.7 and 3.8 are spoken here");
        step = "security";
        break;
      case "security":
        if (head[0] !== SECURITY.none && head[0] !== SECURITY.vnc)
          throw new RfbError(`security type ${head[0]} is not offered`);
        step = head[0] === SECURITY.vnc ? "password" : "init";
        break;
      case "password":
        step = "init";
        break;
      default:
        // Always shared: an exclusive viewer would throw the others out.
        head = Buffer.from([1]);
        step = "message";
    }
  };

  return {
    push: (chunk) => {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      const forward: Uint8Array[] = [];
      let input = false;
      let at = 0;
      while (at < bytes.length) {
        if (left > 0) {
          const end = Math.min(bytes.length, at + left);
          if (!dropping) forward.push(bytes.subarray(at, end));
          left -= end - at;
          at = end;
          continue;
        }
        const missing = wanted() - head.length;
        const piece = bytes.subarray(at, at + missing);
        head = head.length === 0 ? Buffer.from(piece) : Buffer.concat([head, piece]);
        at += piece.length;
        // Knowing the type may ask for more.
        if (head.length < wanted()) continue;
        if (step === "message") {
          const type = head[0] ?? 0;
          const kind = KINDS[type] as Kind;
          left = kind.length(head) - head.length;
          dropping = view_only && kind.acts;
          input ||= isInput(type);
          if (!dropping) forward.push(head);
        } else {
          shake();
          forward.push(head);
        }
        head = Buffer.alloc(0);
      }
      return { forward, input };
    },
  };
}
