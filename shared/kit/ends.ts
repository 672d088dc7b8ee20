const decoder = new TextDecoder("utf-8");
const decode = (bytes: Uint8Array): string => decoder.decode(bytes);

/** The beginning and the end of a stream of any length, in bounded memory. */
export interface Ends {
  push(bytes: Uint8Array): void;
  /** What is kept so far; a line in between says how many bytes are left out. */
  text(): string;
  /** Whether bytes were left out. */
  readonly truncated: boolean;
  /** The last `n` bytes so far, at most as many as are kept. */
  last(n: number): string;
  /** Starts over, as if nothing had arrived. */
  clear(): void;
}

/** Keeps the first and the last `keep` bytes. */
export function createEnds(keep: number): Ends {
  let head: Uint8Array[] = [];
  let head_size = 0;
  let tail: Uint8Array[] = [];
  let tail_size = 0;
  let dropped = 0;
  const tailOver = () => Math.max(0, tail_size - keep);
  const leftOut = () => dropped + tailOver();
  return {
    push: (bytes) => {
      const room = keep - head_size;
      if (room > 0) {
        const first = bytes.slice(0, room);
        head.push(first);
        head_size += first.length;
      }
      const rest = room > 0 ? bytes.subarray(room) : bytes;
      if (rest.length === 0) return;
      tail.push(rest.slice(Math.max(0, rest.length - keep)));
      const left = Math.min(rest.length, keep);
      dropped += rest.length - left;
      tail_size += left;
      for (let first = tail[0]; first; first = tail[0]) {
        if (tail_size - first.length < keep) break;
        tail.shift();
        tail_size -= first.length;
        dropped += first.length;
      }
    },
    text: () => {
      const left_out = leftOut();
      if (left_out === 0) return decode(Buffer.concat([...head, ...tail]));
      const end = Buffer.concat(tail).subarray(tailOver());
      return `${decode(Buffer.concat(head))}\n[… ${left_out} bytes left out …]\n${decode(end)}`;
    },
    get truncated() {
      return leftOut() > 0;
    },
    last: (n) => {
      const all = Buffer.concat(tail_size >= n ? tail : [...head, ...tail]);
      return decode(all.subarray(Math.max(0, all.length - n)));
    },
    clear: () => {
      head = [];
      tail = [];
      head_size = tail_size = dropped = 0;
    },
  };
}
