import { describe, expect, test } from "bun:test";
import { deflateSync } from "node:zlib";
import { comparePictures } from "#hub/fleet/compare/compare-pictures.ts";
import { openPng } from "#hub/fleet/compare/png-file.ts";
import { pngRows } from "#hub/fleet/compare/png-rows.ts";
import { Regions } from "#hub/fleet/compare/regions.ts";
import { shareText } from "#shared/kit/words.ts";
import { COMPARISON_LIMITS } from "#shared/protocol/limits.ts";
import { type MadePng, madePng, painted } from "#test/support/models/made-png.ts";

/** In pieces that end anywhere; `closed` says whether the reader gave the source back. */
function source(file: Uint8Array, piece = 7_001) {
  const state = { closed: false };
  const chunks = (async function* () {
    try {
      for (let at = 0; at < file.length; at += piece) yield file.subarray(at, at + piece);
    } finally {
      state.closed = true;
    }
  })();
  return { chunks, state };
}

async function pixels(made: MadePng): Promise<number[][]> {
  const rows: number[][] = [];
  const file = await openPng(source(madePng(made), 5).chunks);
  for await (const row of pngRows(file)) rows.push([...row]);
  return rows;
}

const compare = (before: Uint8Array, after: Uint8Array) =>
  comparePictures(
    { name: "the first", chunks: source(before).chunks },
    { name: "the second", chunks: source(after).chunks },
  );
const WHITE = [255, 255, 255] as const;
const RED = [255, 0, 0] as const;
const plain = (width: number, height: number) => painted(width, height, () => WHITE);

describe("a PNG file is read as red, green and blue on white (rules/comparison#picture)", () => {
  test.each<[string, Omit<MadePng, "height">, number[]]>([
    ["RGB", { width: 2, row: () => [1, 2, 3, 4, 5, 6] }, [1, 2, 3, 4, 5, 6]],
    [
      "RGBA",
      { width: 2, colour: 6, row: () => [9, 8, 7, 255, 0, 0, 0, 51] },
      [9, 8, 7, 204, 204, 204],
    ],
    ["gray", { width: 2, colour: 0, row: () => [7, 200] }, [7, 7, 7, 200, 200, 200]],
    ["gray with opacity", { width: 1, colour: 4, row: () => [0, 0] }, [255, 255, 255]],
    [
      "gray of one bit",
      { width: 3, colour: 0, bits: 1, row: () => [0b10100000] },
      [255, 255, 255, 0, 0, 0, 255, 255, 255],
    ],
    [
      "a palette with opacity",
      {
        width: 3,
        colour: 3,
        bits: 4,
        row: () => [0x01, 0x20],
        more: { tEXt: [65, 0, 66], PLTE: [1, 2, 3, 0, 0, 0, 7, 8, 9], tRNS: [255, 0] },
      },
      [1, 2, 3, 255, 255, 255, 7, 8, 9],
    ],
    ["RGB of 16 bits", { width: 1, bits: 16, row: () => [1, 99, 2, 99, 3, 99] }, [1, 2, 3]],
  ])("%s", async (_, made, row) => {
    expect(await pixels({ ...made, height: 2 })).toEqual([row, row]);
  });

  test("whichever way its rows were made smaller", async () => {
    const row = (y: number) => Array.from({ length: 30 }, (_, i) => (i * i * 7 + y * 31) % 256);
    const made = { width: 10, height: 15, row, filter: (y: number) => y % 5 };
    expect(await pixels(made)).toEqual(Array.from({ length: 15 }, (_, y) => row(y)));
  });
});

describe("a picture that cannot be compared says why (rules/comparison#limits)", () => {
  const tiny = { width: 2, height: 2, row: () => [0, 0, 0, 0, 0, 0] };
  const { picture_bytes, picture_pixels, picture_side } = COMPARISON_LIMITS;
  test.each<[string, Uint8Array]>([
    ["is not a PNG file", Buffer.from("GIF89a, and more than that")],
    ["ends too early", Buffer.from("GIF")],
    ["ends too early", madePng(tiny).subarray(0, 60)],
    ["is interlaced", madePng({ ...tiny, interlaced: 1 })],
    ["has no pixels", madePng({ ...tiny, width: 0 })],
    [
      `is longer than ${picture_side} pixels`,
      madePng({ ...tiny, height: 2 ** 31, packed: Buffer.from("x") }),
    ],
    [
      `has more than ${picture_pixels} pixels`,
      madePng({ ...tiny, width: 30_000, height: 30_000, packed: Buffer.from("x") }),
    ],
    ["is not a PNG file as they should be", madePng({ ...tiny, bits: 3 })],
    ["is not a PNG file as they should be", madePng({ ...tiny, colour: 5 })],
    ["is damaged", madePng({ ...tiny, packed: Buffer.from("nothing that was deflated") })],
    ["is damaged", madePng({ ...tiny, packed: deflateSync(Buffer.alloc(14, 9)) })],
    ["ends too early", madePng({ ...tiny, packed: deflateSync(Buffer.alloc(8)) })],
    [
      `has more than ${picture_bytes} bytes`,
      madePng({ ...tiny, more: { tEXt: Buffer.alloc(picture_bytes) as never } }),
    ],
  ])("it %s", async (why, file) => {
    const good = source(plain(2, 2));
    const bad = source(file);
    const compared = comparePictures(
      { name: "the first", chunks: good.chunks },
      { name: "the second", chunks: bad.chunks },
    );
    await expect(compared).rejects.toThrow(`the second ${why}`);
    expect([good.state.closed, bad.state.closed]).toEqual([true, true]);
  });

  test("rows beyond those announced are not decompressed", async () => {
    const bomb = madePng({ ...tiny, packed: deflateSync(Buffer.alloc(200_000_000)) });
    const before = process.memoryUsage().rss;
    expect(await compare(bomb, bomb)).toMatchObject({ ratio: 0 });
    expect(process.memoryUsage().rss - before).toBeLessThan(150_000_000);
  });
});

describe("two pictures (rules/comparison#picture)", () => {
  test("differ where a channel does by more than edges are smoothed unlike", async () => {
    const { channel } = COMPARISON_LIMITS;
    const after = painted(100, 80, (x, y) => {
      if (x >= 10 && x < 20 && y >= 5 && y < 9) return RED;
      if (x === 90 && y === 70) return [255, 255, 254 - channel];
      return [255, 255 - channel, 255];
    });
    expect(await compare(plain(100, 80), after)).toEqual({
      ratio: 41 / 8_000,
      before: { width: 100, height: 80 },
      after: { width: 100, height: 80 },
      boxes: [
        { x: 10, y: 5, width: 10, height: 4 },
        { x: 90, y: 70, width: 1, height: 1 },
      ],
    });
    expect(await compare(after, after)).toMatchObject({ ratio: 0, boxes: [] });
  });

  test("of other sizes differ in what only one of them shows", async () => {
    expect(await compare(plain(40, 50), plain(30, 100))).toEqual({
      ratio: (10 * 50 + 30 * 50) / (40 * 50 + 30 * 50),
      before: { width: 40, height: 50 },
      after: { width: 30, height: 100 },
      boxes: [
        { x: 30, y: 0, width: 10, height: 50 },
        { x: 0, y: 50, width: 40, height: 50 },
      ],
    });
  });

  test("with more regions than are told have them joined, and none is lost (rules/comparison#limits)", () => {
    const regions = new Regions();
    const points = Array.from({ length: 400 }, (_, n) => [(n % 20) * 100, Math.floor(n / 20) * 70]);
    for (const [x = 0, y = 0] of points) regions.add(x, y);
    const boxes = regions.boxes();
    expect(boxes.length).toBeLessThanOrEqual(COMPARISON_LIMITS.boxes);
    const inside = ([px = 0, py = 0]: number[]) =>
      boxes.some(
        ({ x, y, width, height }) => px >= x && px < x + width && py >= y && py < y + height,
      );
    expect(points.every(inside)).toBe(true);
  });

  test("leave time for others while they are compared", async () => {
    // Random rows, each behind the number of its filter.
    const [width, height] = [1_000, 1_000];
    const rows = Buffer.alloc(height * (1 + width * 3));
    for (let y = 0; y < height; y += 1) rows[y * (1 + width * 3)] = y % 5;
    const blank = madePng({ width, height, row: () => [], packed: deflateSync(rows) });
    for (let i = 0; i < rows.length; i += 1) if (i % (1 + width * 3) > 0) rows[i] = (i * 31) % 97;
    const noise = madePng({ width, height, row: () => [], packed: deflateSync(rows) });
    let turns = 0;
    let over = false;
    const count = () => {
      turns += 1;
      if (!over) setImmediate(count);
    };
    count();
    const { ratio } = await compare(blank, noise);
    over = true;
    expect(ratio).toBeGreaterThan(0.9);
    expect(turns).toBeGreaterThan(2);
  });
});

test("a share is never told as nothing or all when it is not (rules/comparison#on-the-command-line)", () => {
  expect([0, 0.000_001, 0.123_456, 0.999_999, 1].map(shareText)).toEqual([
    ...["0 %", "less than 0.01 %", "12.35 %", "more than 99.99 %", "100 %"],
  ]);
});
