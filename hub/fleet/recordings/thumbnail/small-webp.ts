import { errorMessage } from "#shared/kit/errors.ts";
import { type Picture, PictureError } from "../video/picture.ts";

/** Of the small picture, in pixels; that of a telephone's screen would otherwise be twice as high as it is wide. */
const WIDEST = 320;
const TALLEST = 480;
const QUALITY = 60;
/** No screen may have more pixels when it is drawn here (`picture.ts`). */
const MAX_PIXELS = 4_096 * 4_096;

/**
 * A small WebP of a picture, at most 320 × 480 pixels in its own proportions. The runtime decodes, shrinks and encodes it
 * beside the thread that answers calls.
 * @param picture pixels, or the bytes of a JPEG. @throws PictureError when it cannot be decoded
 */
export async function smallWebp(picture: Picture | Uint8Array): Promise<Uint8Array> {
  const file = picture instanceof Uint8Array ? picture : bitmapOf(picture);
  return new Bun.Image(file, { maxPixels: MAX_PIXELS })
    .resize(WIDEST, TALLEST, { fit: "inside", withoutEnlargement: true })
    .webp({ quality: QUALITY })
    .bytes()
    .catch((err) => {
      throw new PictureError(`a picture cannot be made smaller: ${errorMessage(err)}`);
    });
}

const FILE_HEAD = 14;
const INFO_HEAD = 40;
const MASKS = [0x000000ff, 0x0000ff00, 0x00ff0000];
const WITH_MASKS = 3;

/** A BMP file takes pixels as they are: its masks say which of the four bytes is red, green and blue. */
function bitmapOf({ width, height, pixels }: Picture): Uint8Array {
  const begins = FILE_HEAD + INFO_HEAD + MASKS.length * 4;
  const head = Buffer.alloc(begins);
  head.write("BM", 0, "latin1");
  head.writeUInt32LE(begins + pixels.length, 2);
  head.writeUInt32LE(begins, 10);
  head.writeUInt32LE(INFO_HEAD, 14);
  head.writeInt32LE(width, 18);
  // Negative: the first row is the one at the top.
  head.writeInt32LE(-height, 22);
  head.writeUInt16LE(1, 26);
  head.writeUInt16LE(32, 28);
  head.writeUInt32LE(WITH_MASKS, 30);
  head.writeUInt32LE(pixels.length, 34);
  for (const [i, mask] of MASKS.entries()) head.writeUInt32LE(mask, FILE_HEAD + INFO_HEAD + i * 4);
  return Buffer.concat([head, pixels]);
}
