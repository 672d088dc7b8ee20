import { expect, test } from "bun:test";
import { constants, deflateSync } from "node:zlib";
import { jpegSize } from "#worker/browser/bridge/jpeg-size.ts";
import { createRfbInput } from "#worker/browser/bridge/rfb-input.ts";
import { keyOf } from "#worker/browser/bridge/rfb-keys.ts";
import { jpegRectangle, readCutText } from "#worker/browser/bridge/rfb-wire.ts";
import type { CdpSession } from "#worker/browser/cdp/connection.ts";

test.each([
  [0x61, { key: "a", code: "KeyA", vk: 65, text: "a" }],
  [0x41, { key: "A", code: "KeyA", vk: 65, text: "A" }],
  [0x21, { key: "!", code: "Digit1", vk: 49, text: "!" }],
  [0x3c, { key: "<", code: "Comma", vk: 188, text: "<" }],
  [0x20, { key: " ", code: "Space", vk: 32, text: " " }],
  [0xff0d, { key: "Enter", code: "Enter", vk: 13, text: "\r" }],
  [0xff51, { key: "ArrowLeft", code: "ArrowLeft", vk: 37, text: "" }],
  [0xffc2, { key: "F5", code: "F5", vk: 116, text: "" }],
  [0xffb7, { key: "7", code: "Numpad7", vk: 103, text: "7" }],
  [0xfc, { key: "ü", code: "", vk: 0, text: "ü" }],
  [0x0100_20ac, { key: "€", code: "", vk: 0, text: "€" }],
  [0x0101_f600, { key: "😀", code: "", vk: 0, text: "😀" }],
  [0xfe11, null],
])("keysym %i is the key that a keyboard would send", (keysym, key) => {
  expect(keyOf(keysym)).toEqual(key);
});

interface Sent {
  method: string;
  params: Record<string, unknown>;
}
function inputRig() {
  const sent: Sent[] = [];
  let now = 0;
  const page = {
    post: (method: string, params: Record<string, unknown>) => sent.push({ method, params }),
  } as unknown as CdpSession;
  const input = createRfbInput({ now: () => now, monotonic: () => now, sleep: async () => {} });
  return {
    page,
    input,
    sent,
    at: (ms: number) => {
      now = ms;
    },
  };
}

test("a shortcut writes nothing, and what is still down is let go at the end", () => {
  const { page, input, sent } = inputRig();
  input.key(page, 0xffe3, true);
  input.key(page, 0x61, true);
  expect(sent.at(-1)?.params).toMatchObject({ type: "rawKeyDown", key: "a", modifiers: 2 });
  expect(sent.at(-1)?.params).not.toHaveProperty("text");
  input.release(page);
  expect(sent.slice(2).map((s) => [s.params.type, s.params.key])).toEqual([
    ["keyUp", "Control"],
    ["keyUp", "a"],
  ]);
});

test("two clicks at one place soon after each other are a double click; the wheel turns by notches", () => {
  const { page, input, sent, at } = inputRig();
  for (const ms of [0, 200, 900]) {
    at(ms);
    input.pointer(page, 1, 10, 10);
    input.pointer(page, 0, 10, 10);
  }
  const presses = sent.filter((s) => s.params.type === "mousePressed");
  expect(presses.map((s) => s.params.clickCount)).toEqual([1, 2, 1]);
  input.pointer(page, 16, 10, 10);
  input.pointer(page, 0, 10, 10);
  expect(sent.at(-1)?.params).toMatchObject({ type: "mouseWheel", deltaY: 120 });
});

test("Ctrl+V writes the viewer's text, also when it comes after the key", () => {
  const { page, input, sent } = inputRig();
  const pressPaste = () => {
    input.key(page, 0xffe3, true);
    input.key(page, 0x76, true);
    input.key(page, 0x76, false);
    input.key(page, 0xffe3, false);
  };
  const inserted = () => sent.filter((s) => s.method === "Input.insertText").map((s) => s.params);
  input.clipboard(page, "one");
  pressPaste();
  expect(inserted()).toEqual([{ text: "one" }]);
  input.clipboardComing();
  pressPaste();
  expect(inserted()).toHaveLength(1);
  input.clipboard(page, "two");
  expect(inserted()).toEqual([{ text: "one" }, { text: "two" }]);
});

test("clipboard text is read as Latin-1, and as UTF-8 when it is the extended clipboard's", () => {
  const plain = Buffer.from([6, 0, 0, 0, 0, 0, 0, 2, 0x48, 0xfc]);
  expect(readCutText(plain)).toEqual({ text: "Hü" });
  const text = Buffer.from("a\r\n€\0");
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  // Flushed but not ended, as noVNC does it.
  const data = deflateSync(Buffer.concat([length, text]), {
    finishFlush: constants.Z_SYNC_FLUSH,
  });
  const head = Buffer.alloc(12);
  head[0] = 6;
  head.writeInt32BE(-(4 + data.length), 4);
  head.writeInt32BE((1 << 28) | 1, 8);
  expect(readCutText(Buffer.concat([head, data]))).toEqual({ text: "a\n€" });
  head.writeInt32BE((1 << 27) | 1, 8);
  expect(readCutText(head)).toBe("coming");
});

test("a picture's size is read from its frame header, behind other segments", () => {
  const app = [0xff, 0xe0, 0, 4, 1, 2];
  const sof = [0xff, 0xc0, 0, 11, 8, 0x04, 0x38, 0x07, 0x80, 1, 1, 0x11, 0];
  expect(jpegSize(Buffer.from([0xff, 0xd8, ...app, ...sof]))).toEqual({
    width: 1920,
    height: 1080,
  });
  expect(jpegSize(Buffer.from("no picture at all"))).toBeNull();
});

test("the length of a picture is written as Tight wants it", () => {
  const bytes = 200_000;
  const [b0, b1, b2] = jpegRectangle({ width: 1, height: 1 }, bytes).subarray(-3);
  expect(((b0 as number) & 0x7f) | (((b1 as number) & 0x7f) << 7) | ((b2 as number) << 14)).toBe(
    bytes,
  );
});
