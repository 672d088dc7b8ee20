import type { Range } from "../../parts/chart/model.ts";

const MINUTE_S = 60;

/**
 * Every minute of the range, in seconds since the epoch: one that nobody reported is a gap, and no line is drawn over it.
 */
export function minutesOf({ from, until }: Range): number[] {
  const first = Math.ceil(from / MINUTE_S);
  const last = Math.floor(until / MINUTE_S);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => (first + i) * MINUTE_S);
}

/** One value for each of these minutes; null where there is no point. */
export function valuesAt<P extends { ts: string }>(
  x: readonly number[],
  points: readonly P[],
  value: (point: P) => number | null,
): (number | null)[] {
  const at = new Map(points.map((point) => [Date.parse(point.ts) / 1_000, value(point)]));
  return x.map((minute) => at.get(minute) ?? null);
}
