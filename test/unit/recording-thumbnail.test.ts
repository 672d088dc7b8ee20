import { expect, test } from "bun:test";
import { lastWholeJpeg } from "#hub/fleet/recordings/thumbnail/last-jpeg.ts";
import { lastPicture } from "#hub/fleet/recordings/thumbnail/last-picture.ts";
import { smallWebp } from "#hub/fleet/recordings/thumbnail/small-webp.ts";
import { createThumbnailTurns } from "#hub/fleet/recordings/thumbnail/turns.ts";
import { jpegPixels } from "#hub/fleet/recordings/video/jpeg.ts";
import {
  blackPicture,
  type Picture,
  PictureError,
  putColours,
} from "#hub/fleet/recordings/video/picture.ts";
import {
  type Colour,
  jpegUpdate,
  type MadeRecording,
  makeRecording,
  plainUpdate,
} from "#test/support/rigs/made-recording.ts";
import { lookAtWebp } from "#test/support/rigs/webp-colour.ts";

/** How the small picture of a recording is drawn (rules/recordings#the-small-picture-of-a-session). */

const RED: Colour = [200, 30, 30];
const GREEN: Colour = [20, 160, 60];
const BLUE: Colour = [30, 60, 220];
const [WIDTH, HEIGHT] = [64, 48];

function filled(width: number, height: number, colour: Colour): Picture {
  const picture = blackPicture(width, height);
  putColours(picture, { x: 0, y: 0, width, height }, Uint8Array.from(colour), () => 0);
  return picture;
}
const jpegOf = async (colour: Colour): Promise<Uint8Array> =>
  new Bun.Image(await smallWebp(filled(WIDTH, HEIGHT, colour))).jpeg({ quality: 95 }).bytes();

const near = (colour: Colour) => colour.map((n) => expect.closeTo(n, -1.3));

/** What the recording shows last, as `GET /sessions/{sid}/thumbnail.webp` looks for it. */
const lastOf = ({ bytes, index }: MadeRecording, signal = new AbortController().signal) =>
  lastPicture({
    chunks: index.chunks,
    read: async ({ offset, length }) =>
      (async function* () {
        // Cut in the middle of whatever is there.
        const size = Math.max(777, Math.ceil(length / 100));
        for (let at = offset; at < offset + length; at += size)
          yield bytes.subarray(at, Math.min(at + size, offset + length));
      })(),
    signal,
  });
async function colourOf(recording: MadeRecording): Promise<number[]> {
  const picture = await lastOf(recording);
  if (picture === null) throw new Error("there is no picture");
  return (await lookAtWebp(await smallWebp(picture))).colour;
}
const made = () => makeRecording(WIDTH, HEIGHT);
const patch = (colour: Colour) => plainUpdate([{ x: 8, y: 8, width: 48, height: 32, colour }]);

test("of a screen that was drawn part by part, all updates of the last chunk count", async () => {
  const recording = made()
    .chunk(400)
    .plain(500, RED)
    .chunk(4_000)
    .plain(4_000, GREEN)
    .event(4_500, { type: "note", level: "info", text: "a word in between" })
    .screen(5_000, patch(BLUE), 5)
    .end(6_000)
    .done();
  expect(await colourOf(recording)).toEqual(near(BLUE));
});

test("of whole pictures only the last one is decoded", async () => {
  const broken = jpegUpdate(WIDTH, HEIGHT, new Uint8Array(50));
  const [red, blue] = [await jpegOf(RED), await jpegOf(BLUE)];
  const recording = made()
    .chunk(400)
    .screen(400, jpegUpdate(WIDTH, HEIGHT, red))
    .screen(900, broken)
    .screen(1_400, jpegUpdate(WIDTH, HEIGHT, blue), 4)
    .end(2_000)
    .done();
  expect(await lastOf(recording)).toEqual(Buffer.from(blue));
  expect(await colourOf(recording)).toEqual(near(BLUE));
});

test("a last picture that is cut anywhere leaves the one before it", async () => {
  const [red, blue] = [await jpegOf(RED), await jpegOf(BLUE)];
  const first = jpegUpdate(WIDTH, HEIGHT, red);
  const both = Buffer.concat([first, jpegUpdate(WIDTH, HEIGHT, blue)]);
  const screen = { width: WIDTH, height: HEIGHT };
  for (let length = first.length; length < both.length; length += 1)
    expect(lastWholeJpeg(both.subarray(0, length), screen)).toEqual(Buffer.from(red));
  expect(lastWholeJpeg(both, screen)).toEqual(Buffer.from(blue));
  expect(lastWholeJpeg(both.subarray(0, first.length - 1), screen)).toBeNull();
  // Anything else in between is drawn instead.
  const other = Buffer.concat([first, patch(GREEN)]);
  expect(lastWholeJpeg(other, screen)).toBeNull();
  const recording = made().chunk(1).screen(1, first).screen(2, patch(GREEN)).done();
  expect(await colourOf(recording)).toEqual(near(GREEN));
});

test("a picture's length has one, two or three bytes", () => {
  const screen = { width: WIDTH, height: HEIGHT };
  for (const length of [1, 127, 128, 16_383, 16_384, 70_000]) {
    const jpeg = Buffer.alloc(length, 7);
    const said = Buffer.from(jpegUpdate(WIDTH, HEIGHT, jpeg));
    expect(lastWholeJpeg(said, screen)).toEqual(jpeg);
  }
});

test("a chunk that was cut before its picture leaves the one before it, and what cannot be drawn on counts so far", async () => {
  const cut = made().chunk(1).plain(2, GREEN).chunk(500).screen(501, patch(RED).slice(0, 9));
  expect(await colourOf(cut.done())).toEqual(near(GREEN));
  const broken = made().chunk(1).plain(2, BLUE).screen(3, new Uint8Array(40).fill(99));
  expect(await colourOf(broken.done())).toEqual(near(BLUE));
});

test("a recording without a picture, or with none that can be drawn, has none", async () => {
  expect(await lastOf(made().end(1).done())).toBeNull();
  const nonsense = new Uint8Array(40).fill(99);
  expect(await lastOf(made().chunk(1).screen(2, nonsense).done())).toBeNull();
  expect(await lastOf(makeRecording(0, 0).chunk(1).plain(2, RED).done())).toBeNull();
  const many = makeRecording(WIDTH, HEIGHT).chunk(1).plain(2, RED);
  for (let i = 0; i < 17; i += 1) many.screen(3, new Uint8Array(1024 * 1024), 2);
  expect(await lastOf(many.done())).toBeNull();
});

test("drawing ends when nobody waits for it any longer", async () => {
  const over = new AbortController();
  over.abort(new Error("too late"));
  const recording = made().chunk(1).plain(2, RED).done();
  await expect(lastOf(recording, over.signal)).rejects.toThrow("too late");
});

for (const [width, height, small] of [
  [1_920, 1_080, { width: 320, height: 180 }],
  [390, 844, { width: 222, height: 480 }],
  [64, 48, { width: 64, height: 48 }],
] as const)
  test(`a screen of ${width} × ${height} pixels becomes ${small.width} × ${small.height}, its first row at the top`, async () => {
    const picture = filled(width, height, RED);
    const y = Math.floor(height / 3);
    const below = { x: 0, y, width, height: height - y };
    putColours(picture, below, Uint8Array.from(BLUE), () => 0);
    const webp = await smallWebp(picture);
    expect(await lookAtWebp(webp)).toEqual({ ...small, colour: near(BLUE) });
    const pixels = await jpegPixels(webp, small.width, small.height);
    expect([...pixels.subarray(0, 3)]).toEqual(near(RED));
    expect(webp.length).toBeLessThan(4_000);
  });

test("what is no picture is refused, and nothing larger than a screen is decoded", async () => {
  await expect(smallWebp(new Uint8Array(100))).rejects.toThrow(PictureError);
  const huge = { width: 5_000, height: 5_000, pixels: new Uint8Array(4) };
  await expect(smallWebp(huge)).rejects.toThrow(PictureError);
});

test("pictures are drawn one at a time, and so many may wait", async () => {
  const inTurn = createThumbnailTurns();
  const gate = Promise.withResolvers<void>();
  let [drawing, most] = [0, 0];
  const draw = async () => {
    drawing += 1;
    most = Math.max(most, drawing);
    await gate.promise;
    drawing -= 1;
  };
  const waiting = Array.from({ length: 200 }, () => inTurn(draw));
  await expect(inTurn(draw)).rejects.toThrow("too many pictures");
  gate.resolve();
  await Promise.all(waiting);
  expect(most).toBe(1);
  // One that fails keeps nobody from the next turn.
  await expect(inTurn(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await inTurn(async () => "drawn")).toBe("drawn");
});
