import { expect, test } from "bun:test";
import fc from "fast-check";
import { createFrameReader, encodeFrame, type Frame, OPCODE } from "#shared/kit/ws-frames.ts";
import { createFrameGaps } from "#worker/browser/bridge/frame-gap.ts";

const payload = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.constantFrom(0, 125, 126, 65_535, 65_536).map((n) => new Uint8Array(n).fill(n & 255)),
);
const frame = fc.record({ opcode: fc.constantFrom(OPCODE.text, OPCODE.ping), payload });
const sizes = fc.array(fc.integer({ min: 1, max: 9_000 }), { minLength: 1, maxLength: 5 });

function cut(whole: Buffer, at: number[]): Buffer[] {
  const out: Buffer[] = [];
  for (let from = 0, i = 0; from < whole.length; i += 1) {
    const size = at[i % at.length] as number;
    out.push(whole.subarray(from, from + size));
    from += size;
  }
  return out;
}

test("messages are read whole, masked or not, however the stream is cut", () => {
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 5 }), sizes, fc.boolean(), (frames, at, masked) => {
      const read: Frame[] = [];
      const reader = createFrameReader(100_000, (f) =>
        read.push({ opcode: f.opcode, payload: Buffer.from(f.payload) }),
      );
      const whole = Buffer.concat(frames.map((f) => encodeFrame(f.opcode, f.payload, masked)));
      for (const piece of cut(whole, at)) reader.push(piece);
      expect(read).toEqual(
        frames.map((f) => ({ opcode: f.opcode, payload: Buffer.from(f.payload) })),
      );
    }),
    { numRuns: 40 },
  );
});

test("a frame of one's own fits into every gap that is found, and into no other place", () => {
  fc.assert(
    fc.property(fc.array(frame, { minLength: 1, maxLength: 5 }), sizes, (frames, at) => {
      const encoded = frames.map((f) => encodeFrame(f.opcode, f.payload, false));
      const ends = new Set([0]);
      let sum = 0;
      for (const bytes of encoded) {
        sum += bytes.length;
        ends.add(sum);
      }
      const gaps = createFrameGaps();
      let passed = 0;
      for (const piece of cut(Buffer.concat(encoded), at)) {
        const gap = gaps.lastGap(piece);
        const inside = [...ends].filter((end) => end >= passed && end <= passed + piece.length);
        expect(gap === -1 ? undefined : passed + gap).toBe(inside.at(-1));
        passed += piece.length;
        expect(gaps.between).toBe(ends.has(passed));
      }
    }),
    { numRuns: 40 },
  );
});

test("frames that begin with the words listened for are handed over whole, however they are cut", () => {
  const prefix = Buffer.from('{"method":"Target.');
  const another = Buffer.from('{"id":1,');
  const event = (name: string, size: number) =>
    Buffer.from(`${prefix}${name}","pad":"${"x".repeat(size)}"}`);
  const payloads = [
    event("one", 3),
    Buffer.from('{"id":1,"result":{"method":"Target.no"}}'),
    event("two", 70_000),
    event("too long", 100_001),
    Buffer.from('{"method":"Targe'),
    Buffer.from('{"id":12,"result":{}}'),
    Buffer.from(""),
    event("three", 200),
  ];
  const whole = Buffer.concat(payloads.map((p) => encodeFrame(OPCODE.text, p, false)));
  fc.assert(
    fc.property(sizes, (at) => {
      const heard: string[] = [];
      const hear = new Map([prefix, another].map((each) => [each, (t: string) => heard.push(t)]));
      const gaps = createFrameGaps({ hear, max_bytes: 100_000 });
      for (const piece of cut(whole, at)) {
        // As a socket does: the chunk is used again for the next one.
        const chunk = Buffer.from(piece);
        gaps.lastGap(chunk);
        chunk.fill(0);
      }
      expect(heard).toEqual([0, 1, 2, 7].map((i) => String(payloads[i])));
    }),
    { numRuns: 40 },
  );
});

test("a fragmented message is put together, with control frames in between", () => {
  const read: string[] = [];
  const reader = createFrameReader(1_000, (f) => read.push(`${f.opcode} ${f.payload}`));
  const first = encodeFrame(OPCODE.text, Buffer.from("one "), false);
  first[0] = OPCODE.text;
  const ping = encodeFrame(OPCODE.ping, Buffer.from("?"), false);
  const rest = encodeFrame(0, Buffer.from("two"), false);
  reader.push(Buffer.concat([first, ping, rest]));
  expect(read).toEqual(["9 ?", "1 one two"]);
});

test("what is too long, compressed or out of order is refused", () => {
  const push = (bytes: Buffer) => createFrameReader(10, () => {}).push(bytes);
  expect(() => push(encodeFrame(OPCODE.text, Buffer.alloc(11), false))).toThrow("at most 10 bytes");
  expect(() => push(Buffer.from([0xc1, 0]))).toThrow("compressed");
  expect(() => push(encodeFrame(0, Buffer.from("x"), false))).toThrow("stray continuation");
});
