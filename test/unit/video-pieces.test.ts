import { expect, test } from "bun:test";
import { deflateSync } from "node:zlib";
import { createByteReader, EndOfScreen } from "#hub/fleet/recordings/video/byte-reader.ts";
import { drawChunk } from "#hub/fleet/recordings/video/draw-chunk.ts";
import { openInflater } from "#hub/fleet/recordings/video/inflate.ts";
import { jpegPixels } from "#hub/fleet/recordings/video/jpeg.ts";
import { matroskaHead, pictureHead } from "#hub/fleet/recordings/video/matroska.ts";
import {
  blackPicture,
  copyWithin,
  type Picture,
  putRows,
  resized,
} from "#hub/fleet/recordings/video/picture.ts";
import { videoFrames } from "#hub/fleet/recordings/video/video-frames.ts";
import type { ChunkPlace } from "#shared/recording/index-of.ts";
import { type Colour, jpegUpdate, makeRecording } from "#test/support/rigs/made-recording.ts";

/** The pieces that draw a recording and hand it on (rules/recordings#export-as-a-video). */

const RED: Colour = [200, 30, 30];
const GREEN: Colour = [20, 160, 60];

async function* pieces(...all: number[][]) {
  for (const [i, bytes] of all.entries()) yield { ms: i * 10, bytes: Uint8Array.from(bytes) };
}

/** A picture with a number for each pixel, to see which went where. */
function numbered(width: number, height: number): Picture {
  const picture = blackPicture(width, height);
  for (let i = 0; i < width * height; i += 1) picture.pixels[i * 4] = i;
  return picture;
}
const numbers = ({ pixels }: Picture) => [...pixels].filter((_, i) => i % 4 === 0);

/** A JPEG in one colour: the runtime encodes what it decodes from a PNG of one pixel that is made here. */
async function plainJpeg(width: number, height: number, colour: Colour): Promise<Uint8Array> {
  const chunk = (type: string, data: Uint8Array) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(Bun.hash.crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const head = Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0]);
  const png = Buffer.concat([
    Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]),
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(Buffer.from([0, ...colour]))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
  return new Bun.Image(png).resize(width, height, { fit: "fill" }).jpeg({ quality: 95 }).bytes();
}

test("numbers and bytes are read across pieces, with the time of the last one", async () => {
  const reader = createByteReader(pieces([1, 2], [3], [255, 255, 255, 254, 9]));
  expect(await reader.u8()).toBe(1);
  expect(reader.ms).toBe(0);
  expect(await reader.u16()).toBe(0x0203);
  expect(reader.ms).toBe(10);
  expect(await reader.i32()).toBe(-2);
  expect(reader.ms).toBe(20);
  expect([...(await reader.take(1))]).toEqual([9]);
  expect(await reader.take(0)).toHaveLength(0);
  await expect(reader.u8()).rejects.toThrow(EndOfScreen);
});

test("a rectangle cannot claim more bytes than a screen has", async () => {
  const reader = createByteReader(pieces([1]));
  await expect(reader.take(200_000_000)).rejects.toThrow("too many");
});

test("a stream of compressed pixels goes on, and gives exactly what is asked for", async () => {
  const all = Uint8Array.from({ length: 600 }, (_, i) => i % 251);
  const packed = deflateSync(all);
  const inflater = openInflater();
  expect(new Uint8Array(await inflater.take(packed, 600))).toEqual(all);
  inflater.close();
  for (const size of [599, 601]) {
    const other = openInflater();
    await expect(other.take(packed, size)).rejects.toThrow("compressed pixels");
    other.close();
  }
});

test("a copy moves pixels as they were before it, in every direction", () => {
  const moves = [
    { to: [1, 1], from: [0, 0], at: 5, is: 0 },
    { to: [0, 0], from: [1, 1], at: 0, is: 5 },
    { to: [0, 1], from: [1, 0], at: 4, is: 1 },
    { to: [1, 0], from: [0, 1], at: 1, is: 4 },
  ] as const;
  for (const { to, from, at, is } of moves) {
    const picture = numbered(4, 4);
    const before = numbers(picture);
    copyWithin(picture, { x: to[0], y: to[1], width: 3, height: 3 }, from[0], from[1]);
    const now = numbers(picture);
    expect(now[at]).toBe(is);
    for (let y = 0; y < 3; y += 1)
      for (let x = 0; x < 3; x += 1)
        expect(now[(to[1] + y) * 4 + to[0] + x]).toBe(before[(from[1] + y) * 4 + from[0] + x]);
  }
});

test("pixels are opaque, whatever their fourth byte says", () => {
  const picture = blackPicture(2, 2);
  putRows(picture, { x: 1, y: 0, width: 1, height: 2 }, Uint8Array.of(1, 2, 3, 0, 4, 5, 6, 0));
  expect([...picture.pixels]).toEqual([
    ...[0, 0, 0, 255, 1, 2, 3, 255],
    ...[0, 0, 0, 255, 4, 5, 6, 255],
  ]);
});

test("a smaller screen keeps its corner, and a screen without a size is none", () => {
  expect(numbers(resized(numbered(4, 4), 2, 2))).toEqual([0, 1, 4, 5]);
  for (const [width, height] of [
    [0, 4],
    [4, 0],
    [5_000, 5_000],
  ] as const)
    expect(() => blackPicture(width, height)).toThrow("cannot be drawn");
});

test("a JPEG is decoded to the pixels of its rectangle", async () => {
  const jpeg = await plainJpeg(24, 16, GREEN);
  const pixels = await jpegPixels(jpeg, 24, 16);
  expect(pixels).toHaveLength(24 * 16 * 4);
  for (const at of [0, 24 * 8 * 4, 24 * 16 * 4 - 4])
    expect([...pixels.subarray(at, at + 3)]).toEqual(GREEN.map((n) => expect.closeTo(n, -1)));
});

test("a JPEG of another size than its rectangle is refused, before or after it is decoded", async () => {
  const jpeg = await plainJpeg(24, 16, GREEN);
  await expect(jpegPixels(jpeg, 8, 8)).rejects.toThrow("cannot be decoded");
  await expect(jpegPixels(jpeg, 48, 48)).rejects.toThrow("24 × 16 pixels instead of 48 × 48");
  await expect(jpegPixels(Buffer.from("no picture"), 8, 8)).rejects.toThrow("cannot be decoded");
});

test("a picture of a page without a display fills the screen", async () => {
  const update = jpegUpdate(24, 16, await plainJpeg(24, 16, RED));
  const shown = drawChunk({ width: 24, height: 16 }, pieces([...update]));
  const { value } = await shown.next();
  expect([...(value?.picture.pixels.subarray(0, 3) ?? [])]).toEqual(
    RED.map((n) => expect.closeTo(n, -1)),
  );
  expect((await shown.next()).done).toBe(true);
});

test("what is no update is passed over: colours, a bell and a clipboard", async () => {
  const colours = [1, 0, 0, 0, 0, 1, ...Array.from({ length: 6 }, () => 0)];
  const clipboard = [3, 0, 0, 0, 0, 0, 0, 2, 65, 66];
  const fill = [0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 7, 0x80, ...RED];
  const shown = [];
  for await (const { ms } of drawChunk(
    { width: 1, height: 1 },
    pieces(colours, [2], clipboard, fill),
  ))
    shown.push(ms);
  expect(shown).toEqual([30]);
});

/** The elements of Matroska on one level: id and where its content begins and ends. */
function* elements(bytes: Uint8Array) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.length; ) {
    const id_bytes = Math.clz32(bytes[at] as number) - 23;
    const id = Buffer.from(bytes.subarray(at, at + id_bytes)).toString("hex");
    const size = view.getBigUint64(at + id_bytes) & 0x00ff_ffff_ffff_ffffn;
    const from = at + id_bytes + 8;
    const unknown = size === 0x00ff_ffff_ffff_ffffn;
    const to = unknown ? bytes.length : from + Number(size);
    yield { id, from, to, unknown, content: bytes.subarray(from, to) };
    at = to;
  }
}

test("the head says what the pictures are, and that any number of them follows", () => {
  const [ebml, segment] = [...elements(matroskaHead(640, 480))];
  expect(ebml?.id).toBe("1a45dfa3");
  expect(segment).toMatchObject({ id: "18538067", unknown: true });
  const [info, tracks] = [...elements(segment?.content ?? new Uint8Array(0))];
  expect([info?.id, tracks?.id]).toEqual(["1549a966", "1654ae6b"]);
  const [track] = [...elements(tracks?.content ?? new Uint8Array(0))];
  const fields = [...elements(track?.content ?? new Uint8Array(0))];
  const video = fields.find(({ id }) => id === "e0");
  const sides = [...elements(video?.content ?? new Uint8Array(0))].slice(0, 2);
  const number = ({ content }: { content: Uint8Array }) =>
    Number(Buffer.from(content).readBigUInt64BE());
  expect(sides.map(number)).toEqual([640, 480]);
});

test("a picture has its moment, and room for its pixels alone", () => {
  const head = pictureHead(12_300, 64);
  const all = Buffer.concat([head, Buffer.alloc(64)]);
  const [cluster, ...others] = [...elements(all)];
  expect(others).toEqual([]);
  expect(cluster).toMatchObject({ id: "1f43b675", to: all.length });
  const [timestamp, block] = [...elements(cluster?.content ?? new Uint8Array(0))];
  expect(Buffer.from(timestamp?.content ?? []).readBigUInt64BE()).toBe(12_300n);
  expect([...(block?.content.subarray(0, 4) ?? [])]).toEqual([0x81, 0, 0, 0x80]);
  expect(block?.content).toHaveLength(4 + 64);
});

test("a moment that cannot be drawn is named, and what came before it is given", async () => {
  const { bytes, index } = makeRecording(8, 8)
    .chunk(100)
    .plain(200, RED)
    .screen(2_000, Uint8Array.of(99, 0, 0))
    .end(3_000)
    .done();
  const seen: number[] = [];
  const read = async ({ offset, length }: ChunkPlace) =>
    new Blob([bytes.slice(offset, offset + length)]).stream();
  const drawing = async () => {
    for await (const { ms } of videoFrames({ index, speed: 1, read })) seen.push(ms);
  };
  await expect(drawing()).rejects.toThrow("cannot be drawn after 0.2 s: the message 99");
  expect(seen).toEqual([0]);
});
