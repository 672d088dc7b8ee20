/** What a program printed, its beginning and its end, in bounded memory. */
export interface Output {
  push(chunk: Uint8Array): void;
  text(): string;
}

/** Keeps the first and the last `keep` bytes; a line in between says how many are left out. */
export function createOutput(keep: number): Output {
  let head = Buffer.alloc(0);
  let tail = Buffer.alloc(0);
  let dropped = 0;
  return {
    push: (chunk) => {
      const room = keep - head.length;
      if (room > 0) head = Buffer.concat([head, chunk.subarray(0, room)]);
      if (chunk.length <= room) return;
      tail = Buffer.concat([tail, chunk.subarray(Math.max(0, room))]);
      // Cut at twice the size, so that a byte at a time is not copied every time.
      if (tail.length <= 2 * keep) return;
      dropped += tail.length - keep;
      tail = Buffer.from(tail.subarray(tail.length - keep));
    },
    text: () => {
      const over = Math.max(0, tail.length - keep);
      const left_out = dropped + over;
      if (left_out === 0) return Buffer.concat([head, tail]).toString("utf8");
      return `${head.toString("utf8")}\n[… ${left_out} bytes left out …]\n${tail.subarray(over).toString("utf8")}`;
    },
  };
}
