/** Of each stream of a run the first and the last so many bytes are kept (design/api.md, Runs). */
export const KEEP_BYTES = 256 * 1024;
const RS = 0x1e;
const LF = 0x0a;

/** What a run printed on one stream. */
export interface Printed {
  text: string;
  truncated: boolean;
}

/** Keeps the beginning and the end of a stream of any length, in bounded memory. */
class Ends {
  #head: Uint8Array[] = [];
  #head_size = 0;
  #tail: Uint8Array[] = [];
  #tail_size = 0;
  #dropped = 0;

  push(bytes: Uint8Array): void {
    const room = KEEP_BYTES - this.#head_size;
    if (room > 0) {
      const first = bytes.slice(0, room);
      this.#head.push(first);
      this.#head_size += first.length;
    }
    const rest = room > 0 ? bytes.subarray(room) : bytes;
    if (rest.length === 0) return;
    this.#tail.push(rest.slice(Math.max(0, rest.length - KEEP_BYTES)));
    const kept = Math.min(rest.length, KEEP_BYTES);
    this.#dropped += rest.length - kept;
    this.#tail_size += kept;
    for (let first = this.#tail[0]; first; first = this.#tail[0]) {
      if (this.#tail_size - first.length < KEEP_BYTES) break;
      this.#tail.shift();
      this.#tail_size -= first.length;
      this.#dropped += first.length;
    }
  }

  /** The last `n` bytes so far. */
  last(n: number): Uint8Array {
    const all = Buffer.concat(this.#tail_size >= n ? this.#tail : [...this.#head, ...this.#tail]);
    return all.subarray(Math.max(0, all.length - n));
  }

  take(): Printed {
    const over = Math.max(0, this.#tail_size - KEEP_BYTES);
    const tail = Buffer.concat(this.#tail).subarray(over);
    const dropped = this.#dropped + over;
    const head = Buffer.concat(this.#head);
    const text =
      dropped === 0
        ? decode(Buffer.concat([head, tail]))
        : `${decode(head)}\n[… ${dropped} bytes left out …]\n${decode(tail)}`;
    this.#head = [];
    this.#tail = [];
    this.#head_size = this.#tail_size = this.#dropped = 0;
    return { text, truncated: dropped > 0 };
  }
}

const decoder = new TextDecoder("utf-8");
const decode = (bytes: Uint8Array): string => decoder.decode(bytes);

/**
 * One stream of a warm child. Its runner ends what a task printed with `\x1e<nonce>\n`; the nonce is new for every task,
 * so nothing a task prints can be taken for it.
 */
export interface StreamCapture {
  push(chunk: Uint8Array): void;
  /** What is printed up to the mark of `nonce`, from the mark asked for before; in the order the marks will come in. */
  until(nonce: string): Promise<Printed>;
  /** The last `n` bytes that were printed since the last mark. */
  last(n: number): string;
  /** The stream is over, or the next mark, that of `nonce`, will not come: what was printed so far. */
  giveUp(nonce: string): void;
}

export function createCapture(): StreamCapture {
  const ends = new Ends();
  /** Bytes that may be the beginning of the mark. */
  let carry: Uint8Array = new Uint8Array(0);
  const waiting: { nonce: string; mark: Uint8Array; resolve(printed: Printed): void }[] = [];

  const settle = () => waiting.shift()?.resolve(ends.take());
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
      // Nobody waits for a mark: nothing of it can be held back either.
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
    last: (n) => decode(ends.last(n)),
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
  const ends = new Ends();
  return {
    push: (chunk) => ends.push(chunk),
    last: (n) => decode(ends.last(n)),
    take: () => ends.take(),
  };
}
