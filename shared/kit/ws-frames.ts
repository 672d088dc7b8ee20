/**
 * WebSocket frames (RFC 6455 §5) over a plain TCP connection, for the hop between hub and worker: Bun's own WebSockets
 * cannot be paused, and without a pause a slow reader costs memory.
 */

export const OPCODE = { text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** One whole message or control frame, unmasked. */
export interface Frame {
  opcode: number;
  payload: Buffer;
}

class FrameError extends Error {
  override name = "FrameError";
}

/**
 * The header of an unfragmented frame. Clients must mask; with a key of zeros the payload stays unchanged, and there is
 * no browser or proxy on this hop that the mask would protect.
 */
export function frameHeader(opcode: number, length: number, masked: boolean): Buffer {
  const extended = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const header = Buffer.alloc(2 + extended + (masked ? 4 : 0));
  header[0] = 0x80 | opcode;
  header[1] = (masked ? 0x80 : 0) | (extended === 0 ? length : extended === 2 ? 126 : 127);
  if (extended === 2) header.writeUInt16BE(length, 2);
  if (extended === 8) header.writeBigUInt64BE(BigInt(length), 2);
  return header;
}

export const encodeFrame = (opcode: number, payload: Uint8Array, masked: boolean): Buffer =>
  Buffer.concat([frameHeader(opcode, payload.length, masked), payload]);

interface Head {
  fin: boolean;
  opcode: number;
  mask: Buffer | null;
  length: number;
  size: number;
}

/** Null while the header is incomplete. */
function readHead(bytes: Buffer): Head | null {
  if (bytes.length < 2) return null;
  const [first = 0, second = 0] = bytes;
  if (first & 0x70) throw new FrameError("compressed frames were not agreed on");
  const masked = (second & 0x80) !== 0;
  const short = second & 0x7f;
  const lengthSize = short === 126 ? 2 : short === 127 ? 8 : 0;
  const size = 2 + lengthSize + (masked ? 4 : 0);
  if (bytes.length < size) return null;
  let length = short;
  if (lengthSize === 2) length = bytes.readUInt16BE(2);
  if (lengthSize === 8) length = Number(bytes.readBigUInt64BE(2));
  const mask = masked ? bytes.subarray(size - 4, size) : null;
  return {
    fin: (first & 0x80) !== 0,
    opcode: first & 0x0f,
    mask: mask?.some((b) => b !== 0) ? Buffer.from(mask) : null,
    length,
    size,
  };
}

function unmask(payload: Buffer, mask: Buffer): void {
  for (let i = 0; i < payload.length; i += 1)
    payload[i] = (payload[i] as number) ^ (mask[i & 3] as number);
}

/** A reader of whole messages from chunks cut anywhere; `push` throws FrameError when the stream is not a WebSocket. */
export function createFrameReader(
  max_bytes: number,
  onFrame: (frame: Frame) => void,
): { push(chunk: Uint8Array): void } {
  /** Unconsumed bytes, in pieces, so that a large message is joined only once. */
  let pieces: Buffer[] = [];
  let held = 0;
  let wanted = 2;
  let message: { opcode: number; parts: Buffer[]; length: number } | null = null;

  const take = (head: Head, payload: Buffer) => {
    if (head.mask) unmask(payload, head.mask);
    if (head.opcode >= 8) return onFrame({ opcode: head.opcode, payload });
    if (head.fin && message === null && head.opcode !== 0)
      return onFrame({ opcode: head.opcode, payload });
    if ((message === null) === (head.opcode === 0)) throw new FrameError("stray continuation");
    message ??= { opcode: head.opcode, parts: [], length: 0 };
    message.parts.push(Buffer.from(payload));
    message.length += payload.length;
    if (message.length > max_bytes) throw new FrameError(`a message is at most ${max_bytes} bytes`);
    if (!head.fin) return;
    const whole = { opcode: message.opcode, payload: Buffer.concat(message.parts) };
    message = null;
    onFrame(whole);
  };

  return {
    push: (chunk) => {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      if (held + bytes.length < wanted) {
        pieces.push(Buffer.from(bytes));
        held += bytes.length;
        return;
      }
      let rest = pieces.length === 0 ? bytes : Buffer.concat([...pieces, bytes]);
      pieces = [];
      wanted = 2;
      for (;;) {
        const head = readHead(rest);
        if (head === null) break;
        if (head.length > max_bytes)
          throw new FrameError(`a message is at most ${max_bytes} bytes`);
        const end = head.size + head.length;
        if (rest.length < end) {
          wanted = end;
          break;
        }
        take(head, rest.subarray(head.size, end));
        rest = rest.subarray(end);
      }
      held = rest.length;
      // The sender may reuse the chunk.
      if (held > 0) pieces.push(Buffer.from(rest));
    },
  };
}
