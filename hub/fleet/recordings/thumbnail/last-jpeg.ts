const JPEG = 0x90;
const TIGHT = [0, 0, 0, 7];
const MOST_LENGTH_BYTES = 3;

const u16 = (n: number): number[] => [n >> 8, n & 255];

/** How an update begins that is the whole screen as one JPEG in Tight encoding, up to the length of the JPEG. */
const headOf = ({ width, height }: { width: number; height: number }): Buffer =>
  Buffer.from([
    0,
    0,
    ...u16(1),
    ...u16(0),
    ...u16(0),
    ...u16(width),
    ...u16(height),
    ...TIGHT,
    JPEG,
  ]);

/**
 * The last whole JPEG of a chunk whose updates are all the whole screen as one JPEG each, as workers record a page without a
 * display. Each of them replaces all before it, so none of these has to be decoded.
 * @param said what the screen's server said in this chunk
 * @returns null where the chunk has anything else, or no whole JPEG
 */
export function lastWholeJpeg(
  said: Buffer,
  screen: { width: number; height: number },
): Buffer | null {
  const head = headOf(screen);
  let last: Buffer | null = null;
  for (let at = 0; at < said.length; ) {
    const begun = said.subarray(at, at + head.length);
    // What its writer had not finished when it died does not count.
    if (begun.length < head.length) return last;
    if (!begun.equals(head)) return null;
    const size = lengthAt(said, at + head.length);
    if (size === null) return last;
    const end = size.from + size.length;
    if (end > said.length) return last;
    last = said.subarray(size.from, end);
    at = end;
  }
  return last;
}

/** Tight's length of seven, seven and eight bits, the lowest first, and where what it measures begins; null: it is cut. */
function lengthAt(said: Buffer, at: number): { length: number; from: number } | null {
  let length = 0;
  for (let i = 0; i < MOST_LENGTH_BYTES; i += 1) {
    const byte = said[at + i];
    if (byte === undefined) return null;
    const is_last = i === MOST_LENGTH_BYTES - 1 || byte < 0x80;
    length |= (is_last ? byte : byte & 0x7f) << (7 * i);
    if (is_last) return { length, from: at + i + 1 };
  }
  return null;
}
