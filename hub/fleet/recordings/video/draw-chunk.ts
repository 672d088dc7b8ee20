import { EXTENDED_DESKTOP_SIZE } from "#shared/protocol/rfb.ts";
import { type ByteReader, createByteReader, EndOfScreen, type ScreenPiece } from "./byte-reader.ts";
import {
  blackPicture,
  copyWithin,
  type Picture,
  PictureError,
  putRows,
  type Rectangle,
  resized,
  within,
} from "./picture.ts";
import { createTightDecoder, type TightDecoder } from "./tight.ts";

/** The screen after one whole update. The picture is drawn on when the next one is asked for. */
export interface Shown {
  ms: number;
  picture: Picture;
}

const RAW = 0;
const COPY = 1;
const TIGHT = 7;
const DESKTOP_SIZE = -223;

/**
 * Draws what a chunk says, update by update (RFC 6143 and Tight, as workers ask for it). It ends with the last whole
 * update, wherever the bytes break off. @throws PictureError
 */
export async function* drawChunk(
  size: { width: number; height: number },
  pieces: AsyncIterator<ScreenPiece>,
): AsyncGenerator<Shown> {
  const reader = createByteReader(pieces);
  const tight = createTightDecoder(reader);
  let picture = blackPicture(size.width, size.height);
  try {
    for (;;) {
      const drawn = await readMessage(reader, tight, picture);
      if (drawn === null) continue;
      picture = drawn;
      yield { ms: reader.ms, picture };
    }
  } catch (err) {
    if (!(err instanceof EndOfScreen)) throw err;
  } finally {
    tight.close();
  }
}

/** The picture after an update, or null where the message was none. */
async function readMessage(
  reader: ByteReader,
  tight: TightDecoder,
  was: Picture,
): Promise<Picture | null> {
  const type = await reader.u8();
  // Colours, a bell and the clipboard say nothing about the picture; recordings of today have none of them.
  if (type !== 0) return passOver(reader, type);
  await reader.u8();
  let picture = was;
  for (let left = await reader.u16(); left > 0; left -= 1) {
    const [x, y] = [await reader.u16(), await reader.u16()];
    const rectangle = { x, y, width: await reader.u16(), height: await reader.u16() };
    const encoding = await reader.i32();
    if (encoding === DESKTOP_SIZE || encoding === EXTENDED_DESKTOP_SIZE) {
      if (encoding === EXTENDED_DESKTOP_SIZE) await passScreens(reader);
      const { width, height } = rectangle;
      if (width !== picture.width || height !== picture.height)
        picture = resized(picture, width, height);
    } else {
      within(picture, rectangle);
      await drawRectangle(reader, tight, picture, rectangle, encoding);
    }
  }
  return picture;
}

async function drawRectangle(
  reader: ByteReader,
  tight: TightDecoder,
  picture: Picture,
  rectangle: Rectangle,
  encoding: number,
): Promise<void> {
  const { width, height } = rectangle;
  if (encoding === RAW) return putRows(picture, rectangle, await reader.take(width * height * 4));
  if (encoding === TIGHT) return tight.draw(picture, rectangle);
  if (encoding !== COPY) throw new PictureError(`the encoding ${encoding} is not known`);
  const [from_x, from_y] = [await reader.u16(), await reader.u16()];
  within(picture, { x: from_x, y: from_y, width, height });
  copyWithin(picture, rectangle, from_x, from_y);
}

async function passScreens(reader: ByteReader): Promise<void> {
  const screens = await reader.u8();
  await reader.take(3 + 16 * screens);
}

async function passOver(reader: ByteReader, type: number): Promise<null> {
  if (type === 1) {
    await reader.take(3);
    await reader.take(6 * (await reader.u16()));
  } else if (type === 3) {
    await reader.take(3);
    await reader.take(Math.abs(await reader.i32()));
  } else if (type !== 2) throw new PictureError(`the message ${type} is not known`);
  return null;
}
