import { expect, test } from "bun:test";
import { constants, createDeflate } from "node:zlib";
import { drawChunk, type Shown } from "#hub/fleet/recordings/video/draw-chunk.ts";
import { fitted, type Picture } from "#hub/fleet/recordings/video/picture.ts";
import { createTiming } from "#hub/fleet/recordings/video/timing.ts";
import {
  type VideoFrame,
  videoFrames,
  videoSize,
} from "#hub/fleet/recordings/video/video-frames.ts";
import type { ChunkPlace } from "#shared/recording/index-of.ts";
import { type Colour, makeRecording, plainUpdate } from "#test/support/rigs/made-recording.ts";

/** How recordings are drawn and timed for a video (rules/recordings#export-as-a-video). */

const RED: Colour = [200, 30, 30];
const GREEN: Colour = [20, 160, 60];
const BLUE: Colour = [30, 60, 220];
const u16 = (...values: number[]) => values.flatMap((n) => [n >> 8, n & 255]);
const TIGHT = [0, 0, 0, 7];
const COPY = [0, 0, 0, 1];
const DESKTOP_SIZE = [255, 255, 255, 33];

/** One update of rectangles that are written by hand. */
const update = (...rectangles: number[][]) =>
  Uint8Array.from([0, 0, ...u16(rectangles.length), ...rectangles.flat()]);

async function* said(...all: Uint8Array[]) {
  // Cut at every seventh byte, in the middle of whatever is there.
  for (const [i, bytes] of all.entries())
    for (let at = 0; at < bytes.length; at += 7)
      yield { ms: i * 100, bytes: bytes.subarray(at, at + 7) };
}
const at = ({ width, pixels }: Picture, x: number, y: number) => [
  ...pixels.subarray((y * width + x) * 4, (y * width + x) * 4 + 4),
];
async function drawn(width: number, height: number, ...all: Uint8Array[]) {
  const shown: Shown[] = [];
  for await (const one of drawChunk({ width, height }, said(...all))) shown.push(one);
  return { shown, picture: shown.at(-1)?.picture as Picture };
}
const plain = (x: number, y: number, width: number, height: number, colour: Colour) =>
  plainUpdate([{ x, y, width, height, colour }]);

/** A zlib stream that goes on, as a server has it. */
function deflater() {
  const stream = createDeflate();
  let out: Buffer[] = [];
  stream.on("data", (part: Buffer) => out.push(part));
  return (bytes: number[]): Promise<number[]> =>
    new Promise((resolve) => {
      stream.write(Buffer.from(bytes), () =>
        stream.flush(constants.Z_SYNC_FLUSH, () => {
          const all = [...Buffer.concat(out)];
          out = [];
          resolve(
            all.length < 128
              ? [all.length, ...all]
              : [(all.length & 127) | 128, all.length >> 7, ...all],
          );
        }),
      );
    });
}

test("plain, filled and copied rectangles are drawn where they belong", async () => {
  const fill = [...u16(2, 0, 2, 4), ...TIGHT, 0x80, ...GREEN];
  const copy = [...u16(1, 1, 3, 3), ...COPY, ...u16(0, 0)];
  const { shown, picture } = await drawn(4, 4, plain(0, 0, 4, 4, RED), update(fill), update(copy));
  expect(shown.map(({ ms }) => ms)).toEqual([0, 100, 200]);
  // A copy reads what was there before it, although both overlap.
  expect([0, 1, 2, 3].map((x) => at(picture, x, 1))).toEqual(
    [RED, RED, RED, GREEN].map((colour) => [...colour, 255]),
  );
});

test("compressed pixels and palettes are read from streams that go on", async () => {
  const pack = deflater();
  const size = u16(0, 0, 4, 4);
  const colours = Array.from({ length: 16 }, (_, i) => [i, i * 2, i * 3]).flat();
  const full = [...size, ...TIGHT, 0x00, ...(await pack(colours))];
  const { picture } = await drawn(4, 4, update(full));
  expect(at(picture, 3, 3)).toEqual([15, 30, 45, 255]);
  const indexes = Array.from({ length: 16 }, (_, i) => i % 3);
  const three = [
    ...size,
    ...TIGHT,
    0x40,
    1,
    2,
    ...RED,
    ...GREEN,
    ...BLUE,
    ...(await pack(indexes)),
  ];
  // Two colours are bits, and so few of them are not compressed.
  const two = [...u16(0, 0, 4, 1), ...TIGHT, 0x40, 1, 1, ...RED, ...BLUE, 0b0101_0000];
  const after = await drawn(4, 4, update(full), update(three), update(two));
  expect([0, 1, 2, 3].map((x) => at(after.picture, x, 0).slice(0, 3))).toEqual(
    [RED, BLUE, RED, BLUE].map((colour) => [...colour]),
  );
  expect(at(after.picture, 1, 1).slice(0, 3)).toEqual([...BLUE]);
});

test("a change of the screen's size keeps what both have", async () => {
  const larger = [...u16(0, 0, 6, 2), ...DESKTOP_SIZE];
  const { picture } = await drawn(4, 4, plain(0, 0, 4, 4, RED), update(larger));
  expect([picture.width, picture.height]).toEqual([6, 2]);
  expect([at(picture, 3, 1), at(picture, 5, 1)]).toEqual([
    [...RED, 255],
    [0, 0, 0, 255],
  ]);
});

test("a chunk that breaks off is drawn up to its last whole update", async () => {
  const { shown } = await drawn(4, 4, plain(0, 0, 4, 4, RED), plain(0, 0, 4, 4, BLUE).slice(0, -1));
  expect(shown).toHaveLength(1);
});

test("what no server sends is refused, however much it claims", async () => {
  const bomb = await deflater()(Array.from({ length: 200_000 }, () => 0));
  const hostile = [
    plain(2, 2, 4, 4, RED),
    update([...u16(0, 0, 4, 4), ...TIGHT, 0x00, ...bomb]),
    update([...u16(0, 0, 4, 4), ...TIGHT, 0x00, 4, 1, 2, 3, 4]),
    update([...u16(0, 0, 4, 4), ...TIGHT, 0x90, 4, 1, 2, 3, 4]),
    update([...u16(0, 0, 4, 4), ...TIGHT, 0xf0]),
    update([...u16(0, 0, 4, 4), 0, 0, 0, 99]),
    update([...u16(0, 0, 65_535, 65_535), ...DESKTOP_SIZE]),
    Uint8Array.of(77),
  ];
  for (const bytes of hostile) await expect(drawn(4, 4, bytes)).rejects.toThrow();
  await expect(drawn(60_000, 60_000, plain(0, 0, 1, 1, RED))).rejects.toThrow("cannot be drawn");
});

test("a picture that has another size than the video stands in its middle", () => {
  const small = { width: 2, height: 2, pixels: new Uint8Array(16).fill(255) };
  const large = fitted(small, 8, 4);
  expect([0, 1, 2, 5, 6].map((x) => at(large, x, 2)[0])).toEqual([0, 0, 255, 255, 0]);
  expect(fitted(small, 2, 2)).toBe(small);
});

test("frames stand where the picture changed, and again while it stands still", () => {
  const timing = createTiming(1);
  expect(timing.changesAt(450)).toEqual([0]);
  // The picture of 450 ms was seen for less than a tenth of a second of the video.
  expect(timing.changesAt(480)).toEqual([]);
  expect(timing.changesAt(3_000)).toEqual([500, 2_500]);
  expect(timing.endsAt(3_400)).toEqual([3_000, 3_300]);
});

test("a faster video has the same pictures, closer together", () => {
  const timing = createTiming(4);
  expect(timing.changesAt(2_000)).toEqual([0]);
  expect(timing.changesAt(2_100)).toEqual([500]);
  expect(timing.changesAt(2_150)).toEqual([]);
  expect(timing.endsAt(4_000)).toEqual([600, 900]);
});

test("a video has even sides, those of the largest screen, and no more than players take", () => {
  const place = (width: number, height: number) => ({ width, height }) as ChunkPlace;
  expect(videoSize([place(801, 601), place(1_281, 719), place(4, 4)])).toEqual({
    width: 1_282,
    height: 720,
  });
  expect(videoSize([place(16_000, 1_000)])).toEqual({ width: 4_096, height: 256 });
});

test("a recording becomes frames from its first moment to its last one", async () => {
  const { bytes, index } = makeRecording(8, 8)
    .chunk(100)
    .plain(200, RED)
    .chunk(1_000)
    .plain(1_000, BLUE)
    .end(1_500)
    .done();
  const frames: [VideoFrame["ms"], number[]][] = [];
  const read = async ({ offset, length }: ChunkPlace) =>
    new Blob([bytes.slice(offset, offset + length)]).stream();
  for await (const { ms, pixels } of videoFrames({ index, speed: 1, read }))
    frames.push([ms, [...pixels.subarray(0, 3)]]);
  expect(frames).toEqual([
    [0, [0, 0, 0]],
    [200, [...RED]],
    [1_000, [...BLUE]],
    [1_400, [...BLUE]],
  ]);
});
