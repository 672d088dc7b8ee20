import { inflateSync } from "node:zlib";
import { errorMessage } from "#shared/kit/errors.ts";
import { PictureError } from "./picture.ts";

/**
 * The runtime decodes JPEGs beside the thread that answers calls, but gives no plain pixels. It gives a PNG without
 * compression and without filters, whose pixels are read here.
 */

const SIGNATURE_BYTES = 8;
const CHUNK_BYTES = 12;
const RGBA = 6;

/** Rows of pixels of four bytes. @throws PictureError when it is no JPEG of this size */
export async function jpegPixels(
  jpeg: Uint8Array,
  width: number,
  height: number,
): Promise<Uint8Array> {
  const max_pixels = width * height;
  const png = await new Bun.Image(jpeg, { maxPixels: max_pixels })
    .png({ compressionLevel: 0 })
    .bytes()
    .catch((err) => {
      throw new PictureError(`a picture cannot be decoded: ${errorMessage(err)}`);
    });
  return plainPixels(png, width, height);
}

function plainPixels(png: Uint8Array, width: number, height: number): Uint8Array {
  const view = new DataView(png.buffer, png.byteOffset, png.byteLength);
  const data: Uint8Array[] = [];
  let [w, h, channels] = [0, 0, 0];
  for (let at = SIGNATURE_BYTES; at + CHUNK_BYTES <= png.length; ) {
    const length = view.getUint32(at);
    const type = String.fromCharCode(...png.subarray(at + 4, at + 8));
    if (type === "IHDR") {
      [w, h] = [view.getUint32(at + 8), view.getUint32(at + 12)];
      channels = view.getUint8(at + 17) === RGBA ? 4 : 0;
    }
    if (type === "IDAT") data.push(png.subarray(at + 8, at + 8 + length));
    at += CHUNK_BYTES + length;
  }
  if (w !== width || h !== height)
    throw new PictureError(`a picture has ${w} × ${h} pixels instead of ${width} × ${height}`);
  if (channels === 0) throw new PictureError("a picture was decoded to another kind of pixels");
  return withoutFilters(inflateSync(Buffer.concat(data)), width * channels, height);
}

/** Each row of a PNG begins with a byte that names its filter. */
function withoutFilters(rows: Uint8Array, row_bytes: number, height: number): Uint8Array {
  const pixels = new Uint8Array(row_bytes * height);
  for (let y = 0; y < height; y += 1) {
    const at = y * (row_bytes + 1);
    if (rows[at] !== 0) throw new PictureError("a picture was decoded with a filter");
    pixels.set(rows.subarray(at + 1, at + 1 + row_bytes), y * row_bytes);
  }
  return pixels;
}
