import { expect, test } from "bun:test";
import fc from "fast-check";
import { createRfbFilter } from "#hub/fleet/viewer/rfb-filter.ts";

const VERSION = Buffer.from("RFB 003.008\n");
const HANDSHAKES = {
  none: Buffer.concat([VERSION, Buffer.from([1, 0])]),
  password: Buffer.concat([VERSION, Buffer.from([2]), Buffer.alloc(16, 7), Buffer.from([0])]),
};
/** ClientInit becomes shared. */
const shared = (handshake: Buffer) =>
  Buffer.concat([handshake.subarray(0, handshake.length - 1), Buffer.from([1])]);

interface Message {
  bytes: Buffer;
  acts: boolean;
  input: boolean;
}
const filled = (length: number, type: number) =>
  fc
    .uint8Array({ minLength: length - 1, maxLength: length - 1 })
    .map((rest) => Buffer.from([type, ...rest]));
const kind = (arbitrary: fc.Arbitrary<Buffer>, acts = false, input = false) =>
  arbitrary.map((bytes): Message => ({ bytes, acts, input }));
const u16 = (n: number) => [n >> 8, n & 255];
const i32 = (n: number) => [...Buffer.from(new Int32Array([n]).buffer).reverse()];
const bytes = (max: number) => fc.uint8Array({ maxLength: max }).map((b) => [...b]);

/** Every message a viewer may send. */
const message: fc.Arbitrary<Message> = fc.oneof(
  kind(filled(20, 0)),
  kind(
    fc
      .array(fc.integer({ min: -400, max: 400 }), { maxLength: 8 })
      .map((list) => Buffer.from([2, 0, ...u16(list.length), ...list.flatMap(i32)])),
  ),
  kind(filled(10, 3)),
  kind(filled(8, 4), true, true),
  kind(
    filled(6, 5).map((b) => Buffer.from([5, (b[1] as number) & 0x7f, ...b.subarray(2)])),
    true,
    true,
  ),
  kind(
    filled(7, 5).map((b) => Buffer.from([5, (b[1] as number) | 0x80, ...b.subarray(2)])),
    true,
    true,
  ),
  kind(
    bytes(40).map((text) => Buffer.from([6, 0, 0, 0, ...i32(text.length), ...text])),
    true,
  ),
  kind(
    bytes(40).map((data) => Buffer.from([6, 0, 0, 0, ...i32(-data.length), ...data])),
    true,
  ),
  kind(filled(10, 150)),
  kind(bytes(64).map((data) => Buffer.from([248, 0, 0, 0, 0, 0, 0, 0, data.length, ...data]))),
  kind(filled(4, 250), true),
  kind(
    fc
      .integer({ min: 0, max: 3 })
      .map((n) => Buffer.from([251, 0, ...u16(800), ...u16(600), n, 0, ...Array(16 * n).fill(9)])),
    true,
  ),
  kind(
    filled(12, 255).map((b) => Buffer.from([255, 0, ...b.subarray(2)])),
    true,
    true,
  ),
);

/** `whole` in pieces of the given sizes, over and over. */
function* pieces(whole: Buffer, sizes: number[]): Generator<Buffer> {
  for (let at = 0, i = 0; at < whole.length; i += 1) {
    const size = sizes[i % sizes.length] as number;
    yield whole.subarray(at, at + size);
    at += size;
  }
}

test("view_only: of any messages, however they are cut, only those that watch go through (rules/viewer#view-only)", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(HANDSHAKES.none, HANDSHAKES.password),
      fc.array(message, { maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 6 }),
      fc.boolean(),
      (handshake, messages, sizes, view_only) => {
        const filter = createRfbFilter(view_only);
        const whole = Buffer.concat([handshake, ...messages.map((m) => m.bytes)]);
        const seen: Uint8Array[] = [];
        let input = false;
        for (const piece of pieces(whole, sizes)) {
          const result = filter.push(piece);
          seen.push(...result.forward);
          input ||= result.input;
        }
        const allowed = messages.filter((m) => !(view_only && m.acts)).map((m) => m.bytes);
        expect(Buffer.concat(seen)).toEqual(Buffer.concat([shared(handshake), ...allowed]));
        expect(input).toBe(messages.some((m) => m.input));
      },
    ),
    { numRuns: 150 },
  );
});

test("the size that a viewer asks the screen for is told, unless it may only watch", () => {
  const screenOf = (view_only: boolean) => {
    const filter = createRfbFilter(view_only);
    filter.push(HANDSHAKES.none);
    const monitor = Buffer.alloc(16);
    return [...Buffer.concat([Buffer.from([251, 0, ...u16(900), ...u16(612), 1, 0]), monitor])]
      .map((byte) => filter.push(Buffer.from([byte])).screen)
      .filter((screen) => screen !== null);
  };
  expect(screenOf(false)).toEqual([{ width: 900, height: 612 }]);
  expect(screenOf(true)).toEqual([]);
});

test("view_only: no bytes at all, however wrong, let a key or a click through (rules/viewer#view-only)", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => {
      const filter = createRfbFilter(true);
      filter.push(HANDSHAKES.none);
      const seen: Uint8Array[] = [];
      try {
        seen.push(...filter.push(noise).forward);
      } catch {
        return;
      }
      // What is forwarded begins, message by message, with a type that may be watched with.
      const again = createRfbFilter(true);
      again.push(HANDSHAKES.none);
      const forwarded = Buffer.concat(seen);
      expect(Buffer.concat(again.push(forwarded).forward)).toEqual(forwarded);
    }),
    { numRuns: 300 },
  );
});

test.each([
  ["another protocol", Buffer.from("GET / HTTP/1.1\r\n\r\n"), "only RFB 3.7 and 3.8"],
  ["RFB 3.3, where the server chooses the security", Buffer.from("RFB 003.003\n"), "only RFB"],
  [
    "a security type nobody offers",
    Buffer.concat([VERSION, Buffer.from([19])]),
    "security type 19",
  ],
  ["an unknown message", Buffer.concat([HANDSHAKES.none, Buffer.from([77])]), "unknown message 77"],
  [
    "an unknown QEMU message",
    Buffer.concat([HANDSHAKES.none, Buffer.from([255, 1])]),
    "unknown QEMU message 1",
  ],
  [
    "a clipboard of a gigabyte",
    Buffer.concat([HANDSHAKES.none, Buffer.from([6, 0, 0, 0, 0x40, 0, 0, 0])]),
    "clipboard text is at most",
  ],
])(
  "websockify: %s is refused with a reason (rules/viewer#viewer-stream)",
  (_name, sent, reason) => {
    expect(() => createRfbFilter(false).push(sent)).toThrow(reason);
  },
);
