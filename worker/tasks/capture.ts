import { createEnds, type Ends } from "#shared/kit/ends.ts";

/** This many bytes are kept of the beginning and of the end of each stream of a run (rules/pipeline-runs#streams). */
export const KEEP_BYTES = 256 * 1024;
const RS = 0x1e;
const LF = 0x0a;

/** What a run printed on one stream. */
export interface Printed {
  text: string;
  truncated: boolean;
}

/** Takes what `ends` holds and empties it. */
function take(ends: Ends): Printed {
  const printed = { text: ends.text(), truncated: ends.truncated };
  ends.clear();
  return printed;
}

/**
 * One stream of a warm child. Its runner ends what a task printed with `\x1e<nonce>\n`; the nonce is new for every task,
 * so nothing a task prints can be taken for it.
 */
export interface StreamCapture {
  push(chunk: Uint8Array): void;
  /**
   * What is printed between the mark requested before and the mark of `nonce`. Call it in the order in which the marks
   * will come.
   */
  until(nonce: string): Promise<Printed>;
  /** The last `n` bytes that were printed since the last mark. */
  last(n: number): string;
  /** What was printed so far, when the stream is over or the next mark, that of `nonce`, will not come. */
  giveUp(nonce: string): void;
}

export function createCapture(): StreamCapture {
  const ends = createEnds(KEEP_BYTES);
  /** Bytes that may be the beginning of the mark. */
  let carry: Uint8Array = new Uint8Array(0);
  const waiting: { nonce: string; mark: Uint8Array; resolve(printed: Printed): void }[] = [];

  const settle = () => waiting.shift()?.resolve(take(ends));
  const scan = (): void => {
    for (let first = waiting[0]; first; first = waiting[0]) {
      const { mark } = first;
      const at = Buffer.from(carry.buffer, carry.byteOffset, carry.length).indexOf(mark);
      if (at >= 0) {
        ends.push(carry.subarray(0, at));
        carry = carry.slice(at + mark.length);
        settle();
        continue;
      }
      // Only an RS among the last bytes can begin a mark that is cut off here.
      const from = Math.max(0, carry.length - mark.length + 1);
      const start = carry.indexOf(RS, from);
      const keep = start < 0 ? carry.length : start;
      ends.push(carry.subarray(0, keep));
      carry = carry.slice(keep);
      return;
    }
  };
  return {
    push: (chunk) => {
      carry = carry.length === 0 ? chunk.slice() : Buffer.concat([carry, chunk]);
      if (waiting.length > 0) scan();
      // Nobody waits for a mark, so nothing can be held back as its beginning.
      else if (carry.length > KEEP_BYTES) {
        ends.push(carry);
        carry = new Uint8Array(0);
      }
    },
    until: (nonce) => {
      const mark = new Uint8Array(nonce.length + 2);
      mark[0] = RS;
      mark.set(new TextEncoder().encode(nonce), 1);
      mark[mark.length - 1] = LF;
      return new Promise<Printed>((resolve) => {
        waiting.push({ nonce, mark, resolve });
        scan();
      });
    },
    last: ends.last,
    giveUp: (nonce) => {
      if (waiting[0]?.nonce !== nonce) return;
      ends.push(carry);
      carry = new Uint8Array(0);
      settle();
    },
  };
}

/** A stream of a program that runs for one task only: everything until its end. */
export function captureAll(): {
  push(chunk: Uint8Array): void;
  last(n: number): string;
  take(): Printed;
} {
  const ends = createEnds(KEEP_BYTES);
  return {
    push: ends.push,
    last: ends.last,
    take: () => take(ends),
  };
}
