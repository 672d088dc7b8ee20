/**
 * Follows a stream of unmasked WebSocket frames without changing it, and says where another frame may be inserted. It
 * skips payloads, except those that begin with a prefix somebody listens for.
 */
export interface FrameGaps {
  /** Offset in `chunk` of its last frame boundary, or -1 when it lies within one frame. */
  lastGap(chunk: Buffer): number;
  /** Whether everything so far ended with a whole frame. */
  readonly between: boolean;
}

/** Some frames are handed over whole, before the chunk with their end goes on. */
interface FrameListener {
  /** What hears of a frame, by what its payload begins with. Entries may come and go between two frames. */
  hear: ReadonlyMap<Buffer, (text: string) => void>;
  /** A longer frame is not handed over. */
  max_bytes: number;
}

/** Whether the part of `prefix` from `at` on is what `piece` begins with, as far as both go. */
function continues(prefix: Buffer, at: number, piece: Buffer): boolean {
  const due = Math.min(prefix.length - at, piece.length);
  return due <= 0 || prefix.compare(piece, 0, due, at, at + due) === 0;
}

export function createFrameGaps(listener: FrameListener | null = null): FrameGaps {
  let head: number[] = [];
  let left = 0;
  /** The beginning of a payload that may match a prefix; null when it does not. */
  let heard: Buffer[] | null = null;
  let heard_bytes = 0;
  /** The prefixes that it still matches. */
  let expected: Buffer[] = [];
  /** The payload's length once the header is whole, else null. */
  const lengthOf = (): number | null => {
    if (head.length < 2) return null;
    const short = (head[1] ?? 0) & 0x7f;
    const size = 2 + (short === 126 ? 2 : short === 127 ? 8 : 0);
    if (head.length < size) return null;
    if (short < 126) return short;
    return head.slice(2).reduce((sum, byte) => sum * 256 + byte, 0);
  };
  const begin = (length: number) => {
    left = length;
    head = [];
    heard = null;
    if (listener === null || length > listener.max_bytes) return;
    expected = [...listener.hear.keys()].filter((prefix) => length >= prefix.length);
    heard = expected.length > 0 ? [] : null;
    heard_bytes = 0;
  };
  const hear = (piece: Buffer) => {
    if (heard === null || listener === null) return;
    expected = expected.filter((prefix) => continues(prefix, heard_bytes, piece));
    if (expected.length === 0) {
      heard = null;
      return;
    }
    heard_bytes += piece.length;
    // Copied, because the sender may reuse the chunk.
    heard.push(left === 0 ? piece : Buffer.from(piece));
    if (left > 0) return;
    const text = Buffer.concat(heard).toString();
    heard = null;
    for (const prefix of expected) listener.hear.get(prefix)?.(text);
  };
  return {
    lastGap: (chunk) => {
      let gap = head.length === 0 && left === 0 ? 0 : -1;
      for (let at = 0; at < chunk.length; ) {
        if (left > 0) {
          const step = Math.min(left, chunk.length - at);
          left -= step;
          hear(chunk.subarray(at, at + step));
          at += step;
        } else {
          head.push(chunk[at] as number);
          at += 1;
          const length = lengthOf();
          if (length === null) continue;
          begin(length);
        }
        if (left === 0 && head.length === 0) gap = at;
      }
      return gap;
    },
    get between() {
      return head.length === 0 && left === 0;
    },
  };
}
