import { expect, test } from "bun:test";
import { smallWebp } from "#hub/fleet/recordings/thumbnail/small-webp.ts";
import { jpegPixels } from "#hub/fleet/recordings/video/jpeg.ts";
import { blackPicture } from "#hub/fleet/recordings/video/picture.ts";

test("bmp", async () => {
  const picture = blackPicture(640, 480);
  for (let y=0;y<480;y++) for (let x = 0; x < 640; x++) picture.pixels.set(y<240 ? [200, 30, 60] : [10,200,30], (y*640+x) * 4);
  const t = performance.now();
  const webp = await smallWebp(picture);
  console.log(performance.now() - t, webp.length);
  const img = new Bun.Image(webp);
  console.log(await img.metadata());
  const jpeg = await new Bun.Image(webp).jpeg({quality: 95}).bytes();
  const px = await jpegPixels(jpeg, 320, 240);
  console.log([...px.subarray(0,6)], [...px.subarray(px.length-6)]);
  const big = blackPicture(1920,1080);
  for (let i=0;i<big.pixels.length;i++) big.pixels[i] = (i*2654435761>>>13)&255;
  const t2 = performance.now();
  const w2 = await smallWebp(big);
  console.log(performance.now()-t2, w2.length);
});
