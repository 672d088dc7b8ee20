/** A picture in memory: four bytes a pixel, red first, always opaque. */
export interface Picture {
  width: number;
  height: number;
  pixels: Uint8Array;
}

export interface Rectangle {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The recording cannot be drawn: a server of RFB does not send this. */
export class PictureError extends Error {
  override name = "PictureError";
}

/** As many pixels as a screen may have here, which take 64 MiB. */
const MAX_PIXELS = 4_096 * 4_096;
const BYTES = 4;

/** A black picture. @throws PictureError when it is too large, or has no size */
export function blackPicture(width: number, height: number): Picture {
  if (width < 1 || height < 1 || width * height > MAX_PIXELS)
    throw new PictureError(`a screen of ${width} × ${height} pixels cannot be drawn`);
  const pixels = new Uint8Array(width * height * BYTES);
  new Uint32Array(pixels.buffer).fill(0xff000000);
  return { width, height, pixels };
}

/** @throws PictureError when the rectangle leaves the picture */
export function within({ width, height }: Picture, rectangle: Rectangle): void {
  const { x, y } = rectangle;
  if (x + rectangle.width > width || y + rectangle.height > height)
    throw new PictureError("something is drawn outside of the screen");
}

/** Puts rows of pixels of four bytes there, whose fourth byte may be anything. */
export function putRows(to: Picture, { x, y, width, height }: Rectangle, from: Uint8Array): void {
  const row = width * BYTES;
  for (let i = 0; i < height; i += 1) {
    const at = ((y + i) * to.width + x) * BYTES;
    to.pixels.set(from.subarray(i * row, (i + 1) * row), at);
    for (let p = at + 3; p < at + row; p += BYTES) to.pixels[p] = 255;
  }
}

/** Puts a pixel for each place in the rectangle, row by row; three bytes at `colourAt(i)` of `from`. */
export function putColours(
  to: Picture,
  { x, y, width, height }: Rectangle,
  from: Uint8Array,
  colourAt: (column: number, row: number) => number,
): void {
  const { pixels } = to;
  for (let row = 0; row < height; row += 1) {
    let at = ((y + row) * to.width + x) * BYTES;
    for (let column = 0; column < width; column += 1, at += BYTES) {
      const colour = colourAt(column, row);
      pixels[at] = from[colour] as number;
      pixels[at + 1] = from[colour + 1] as number;
      pixels[at + 2] = from[colour + 2] as number;
    }
  }
}

/** Copies a part of the picture to another place of it, which may overlap. */
export function copyWithin(to: Picture, rectangle: Rectangle, from_x: number, from_y: number) {
  const { x, y, width, height } = rectangle;
  const rows = Array.from({ length: height }, (_, i) => i);
  // Below its source, the last row goes first, so that none is overwritten before it is read.
  if (y > from_y) rows.reverse();
  for (const i of rows) {
    const start = ((from_y + i) * to.width + from_x) * BYTES;
    to.pixels.copyWithin(((y + i) * to.width + x) * BYTES, start, start + width * BYTES);
  }
}

/** The picture with another size of its screen; what both have stays. */
export function resized(was: Picture, width: number, height: number): Picture {
  const now = blackPicture(width, height);
  const row = Math.min(was.width, width) * BYTES;
  for (let y = 0; y < Math.min(was.height, height); y += 1) {
    const from = y * was.width * BYTES;
    now.pixels.set(was.pixels.subarray(from, from + row), y * width * BYTES);
  }
  return now;
}

/** The picture as large as fits into this size with its own proportions, in the middle, on black. */
export function fitted(picture: Picture, width: number, height: number): Picture {
  if (picture.width === width && picture.height === height) return picture;
  const to = blackPicture(width, height);
  const scale = Math.min(width / picture.width, height / picture.height);
  const [w, h] = [picture.width, picture.height].map((side) =>
    Math.max(1, Math.round(side * scale)),
  ) as [number, number];
  const left = (width - w) >> 1;
  const top = (height - h) >> 1;
  const from = new Uint32Array(picture.pixels.buffer, picture.pixels.byteOffset);
  const into = new Uint32Array(to.pixels.buffer);
  for (let y = 0; y < h; y += 1) {
    const source = Math.floor(((y + 0.5) * picture.height) / h) * picture.width;
    for (let x = 0; x < w; x += 1)
      into[(top + y) * width + left + x] = from[
        source + Math.floor(((x + 0.5) * picture.width) / w)
      ] as number;
  }
  return to;
}
