import { expect, test } from "bun:test";
import { quarters, slopeOfSecondHalf } from "../../scripts/bench/soak/slope.ts";

const minutes = (count: number, valueAt: (minute: number) => number) =>
  Array.from({ length: count }, (_, i) => ({ minute: i + 1, value: valueAt(i + 1) }));

test("what grows at the start and is level afterwards has no slope", () => {
  const points = minutes(120, (minute) => 100 + Math.min(minute, 40));
  expect(slopeOfSecondHalf(points)).toBeCloseTo(0, 6);
  expect(quarters(points)).toEqual({ first: 116, last: 140 });
});

test("steady growth is told by the minute, whatever swings around it", () => {
  const points = minutes(120, (minute) => 100 + 0.5 * minute + (minute % 2 === 0 ? 3 : -3));
  expect(slopeOfSecondHalf(points)).toBeCloseTo(0.5, 1);
});

test("one look has no slope", () => {
  expect(slopeOfSecondHalf([{ minute: 1, value: 7 }])).toBe(0);
  expect(slopeOfSecondHalf([])).toBe(0);
});
