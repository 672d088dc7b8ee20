import { statsOf } from "../harness.ts";

/** One look at a value. */
export interface Point {
  minute: number;
  value: number;
}

/** Least squares through the second half of the time, in units a minute; 0 of fewer than two points. */
export function slopeOfSecondHalf(points: readonly Point[]): number {
  const half = (points.at(-1)?.minute ?? 0) / 2;
  const late = points.filter(({ minute }) => minute >= half);
  const mean = (of: (p: Point) => number) => late.reduce((sum, p) => sum + of(p), 0) / late.length;
  const [x, y] = [mean((p) => p.minute), mean((p) => p.value)];
  const spread = late.reduce((sum, p) => sum + (p.minute - x) ** 2, 0);
  if (spread === 0 || late.length < 2) return 0;
  return late.reduce((sum, p) => sum + (p.minute - x) * (p.value - y), 0) / spread;
}

/** Medians of the first and of the last quarter. */
export function quarters(points: readonly Point[]): { first: number; last: number } {
  const n = Math.max(1, Math.floor(points.length / 4));
  const median = (some: readonly Point[]) => statsOf(some.map(({ value }) => value)).median;
  return { first: median(points.slice(0, n)), last: median(points.slice(-n)) };
}
