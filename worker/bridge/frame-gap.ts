/**
 * Follows a stream of unmasked WebSocket frames without touching it, and says where a frame of one's own may go. Payloads
 * are skipped, not read.
 */
export interface FrameGaps {
  /** Offset in `chunk` of its last frame boundary, or -1 when it lies within one frame. */
  lastGap(chunk: Buffer): number;
  /** Whether everything so far ended with a whole frame. */
  readonly between: boolean;
}

export function createFrameGaps(): FrameGaps {
  let head: number[] = [];
  let left = 0;
  /** The payload's length once the header is whole, else null. */
  const lengthOf = (): number | null => {
    if (head.length < 2) return null;
    const short = (head[1] ?? 0) & 0x7f;
    const size = 2 + (short === 126 ? 2 : short === 127 ? 8 : 0);
    if (head.length < size) return null;
    if (short < 126) return short;
    return head.slice(2).reduce((sum, byte) => sum * 256 + byte, 0);
  };
  return {
    lastGap: (chunk) => {
      let gap = head.length === 0 && left === 0 ? 0 : -1;
      for (let at = 0; at < chunk.length; ) {
        if (left > 0) {
          const step = Math.min(left, chunk.length - at);
          left -= step;
          at += step;
        } else {
          head.push(chunk[at] as number);
          at += 1;
          const length = lengthOf();
          if (length === null) continue;
          left = length;
          head = [];
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
