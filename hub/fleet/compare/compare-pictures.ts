import type { Chunks } from "#shared/archive/streams.ts";
import { COMPARISON_LIMITS } from "#shared/protocol/limits.ts";
import type { PictureCompared } from "#shared/protocol/schema/comparison.ts";
import { openPng, PictureError, type PngFile } from "./png-file.ts";
import { pngRows } from "./png-rows.ts";
import { Regions } from "./regions.ts";

type Size = Pick<PngFile, "width" | "height">;

/** A PNG file, and what it is called where it cannot be compared. */
export interface Picture {
  name: string;
  chunks: Chunks;
}

export interface Difference extends Pick<PictureCompared, "ratio" | "boxes"> {
  before: Size;
  after: Size;
}

/** After this many pixels the hub serves others: some 10 ms. */
const PIXELS_PER_TURN = 250_000;
const pause = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Adds the pixels of a row that differ; returns how many. */
function compareRow(a: Uint8Array, b: Uint8Array, width: number, y: number, to: Regions): number {
  const { channel } = COMPARISON_LIMITS;
  const differs = (i: number): boolean => Math.abs((a[i] ?? 0) - (b[i] ?? 0)) > channel;
  let found = 0;
  for (let x = 0; x < width; x += 1) {
    const i = x * 3;
    if (!differs(i) && !differs(i + 1) && !differs(i + 2)) continue;
    found += 1;
    to.add(x, y);
  }
  return found;
}

/** What only one of two pictures shows, to the right of the other and below it. */
function boxesBeyond(before: Size, after: Size): PictureCompared["boxes"] {
  const [narrow, wide] = [before.width, after.width].toSorted((a, b) => a - b) as [number, number];
  const [low, high] = [before.height, after.height].toSorted((a, b) => a - b) as [number, number];
  return [
    { x: narrow, y: 0, width: wide - narrow, height: low },
    { x: 0, y: low, width: wide, height: high - low },
  ].filter(({ width, height }) => width > 0 && height > 0);
}

/** The next row. @throws PictureError that says whose it is */
async function rowOf(name: string, rows: AsyncGenerator<Uint8Array>): Promise<Uint8Array> {
  const { value } = await named(name, rows.next());
  return value;
}

/** A failure says which picture it is of. */
async function named<T>(name: string, reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (err) {
    if (!(err instanceof PictureError)) throw err;
    throw new PictureError(`${name} ${err.message}`, { cause: err });
  }
}

async function compareFiles(
  [before, after]: readonly [PngFile, PngFile],
  [name_before, name_after]: readonly [string, string],
): Promise<Difference> {
  const [left, right] = [pngRows(before), pngRows(after)];
  const width = Math.min(before.width, after.width);
  const height = Math.min(before.height, after.height);
  const regions = new Regions();
  let differing = 0;
  let since_pause = 0;
  try {
    for (let y = 0; y < height; y += 1) {
      const a = await rowOf(name_before, left);
      const b = await rowOf(name_after, right);
      differing += compareRow(a, b, width, y, regions);
      since_pause += Math.max(before.width, after.width);
      if (since_pause < PIXELS_PER_TURN) continue;
      since_pause = 0;
      await pause();
    }
  } finally {
    await left.return(undefined);
    await right.return(undefined);
  }
  const sizes = [before, after].map((of) => of.width * of.height);
  const either = sizes.reduce((sum, size) => sum + size, 0) - width * height;
  const beyond = boxesBeyond(before, after);
  const size = (of: Size): Size => ({ width: of.width, height: of.height });
  return {
    ratio: (differing + either - width * height) / either,
    before: size(before),
    after: size(after),
    boxes: [...regions.boxes(COMPARISON_LIMITS.boxes - beyond.length), ...beyond],
  };
}

/**
 * Compares two pictures from their top left corners, a row of each at a time (rules/comparison#picture).
 * @throws PictureError when one of them cannot be compared
 */
export async function comparePictures(before: Picture, after: Picture): Promise<Difference> {
  const first = await named(before.name, openPng(before.chunks));
  try {
    const second = await named(after.name, openPng(after.chunks));
    try {
      return await compareFiles([first, second], [before.name, after.name]);
    } finally {
      await second.close();
    }
  } finally {
    await first.close();
  }
}
