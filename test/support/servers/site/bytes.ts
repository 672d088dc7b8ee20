/** Deterministic bodies: the same seed and size give the same bytes on every machine. */
export function seededBytes(seed: number, size: number): Uint8Array {
  const words = new Uint32Array(Math.ceil(size / 4));
  let state = (seed * 2_654_435_761) >>> 0 || 1;
  for (let i = 0; i < words.length; i += 1) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[i] = state;
  }
  return new Uint8Array(words.buffer, 0, size);
}

/** A valid picture of about `size` bytes (24-bit BMP): browsers give up on images that do not decode. */
export function seededBmp(seed: number, size: number): Uint8Array {
  const width = 512;
  const height = Math.max(1, Math.round((size - 54) / (width * 3)));
  const pixels = width * height * 3;
  const bytes = new Uint8Array(54 + pixels);
  const view = new DataView(bytes.buffer);
  bytes.set([0x42, 0x4d]);
  view.setUint32(2, bytes.length, true);
  view.setUint32(10, 54, true);
  view.setUint32(14, 40, true);
  view.setInt32(18, width, true);
  view.setInt32(22, height, true);
  view.setUint16(26, 1, true);
  view.setUint16(28, 24, true);
  view.setUint32(34, pixels, true);
  bytes.set(seededBytes(seed, pixels), 54);
  return bytes;
}

export const sha256 = (bytes: Uint8Array): string =>
  new Bun.CryptoHasher("sha256").update(bytes).digest("hex");

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
