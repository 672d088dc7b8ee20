/** The bundler writes #ffffff as #fff. */
const HEX = /^#(?:([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})|([0-9a-f])([0-9a-f])([0-9a-f]))$/i;

function partsOf(color: string): number[] | null {
  const found = HEX.exec(color);
  if (found === null) return null;
  const [, r = "", g = "", b = "", ...short] = found;
  const pairs = r === "" ? short.map((digit) => digit + digit) : [r, g, b];
  return pairs.map((pair) => Number.parseInt(pair, 16));
}

/** `share` of one colour over another; the first where they are not written in hexadecimal digits. */
export function mixed(color: string, ground: string, share: number): string {
  const [above, below] = [partsOf(color), partsOf(ground)];
  if (above === null || below === null) return color;
  const parts = above.map((part, i) => Math.round(part * share + (below[i] ?? 0) * (1 - share)));
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}
