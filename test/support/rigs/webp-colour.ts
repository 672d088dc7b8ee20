import { jpegPixels } from "#hub/fleet/recordings/video/jpeg.ts";

/** A WebP as a test judges it: its size, and the colour at three quarters of it, where no pointer is. */
export async function lookAtWebp(webp: Uint8Array) {
  const { width, height, format } = await new Bun.Image(webp).metadata();
  if (format !== "webp") throw new Error(`a picture is ${format} instead of webp`);
  // The decoder looks at what it is given, whatever that is called.
  const pixels = await jpegPixels(webp, width, height);
  const at = (Math.floor(height * 0.75) * width + Math.floor(width * 0.75)) * 4;
  return { width, height, colour: [...pixels.subarray(at, at + 3)] };
}
