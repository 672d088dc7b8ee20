import { expect, test } from "bun:test";
import { mixed } from "#hub/ui/client/parts/chart/mix.ts";
import {
  barAt,
  distribution,
  lonely,
  quantile,
  stacked,
} from "#hub/ui/client/parts/chart/model.ts";
import { minutesOf, valuesAt } from "#hub/ui/client/pipeline/load-charts/minutes.ts";

const bars = (label: string, values: number[]) =>
  ({ label, color: "red", values, draw: "bars" }) as const;

test("bars stand on each other, the top one drawn first; nothing of something is no bar", () => {
  const drawn = stacked([
    { label: "came", color: "grey", values: [5, 0, 2], draw: "outline" },
    bars("good", [1, 0, 2]),
    bars("none", [0, 0, 0]),
    bars("bad", [2, 1, 0]),
  ]);
  expect(drawn.map(({ label, heights }) => [label, heights])).toEqual([
    ["came", [5, null, 2]],
    ["bad", [3, 1, null]],
    ["none", [null, null, null]],
    ["good", [1, null, 2]],
  ]);
});

test("a line is drawn as it was measured, with its gaps", () => {
  const [drawn] = stacked([{ label: "cpu", color: "blue", values: [0, null, 0] }]);
  expect(drawn?.heights).toEqual([0, null, 0]);
});

test("quantiles lie between the values", () => {
  expect(quantile([7], 0.95)).toBe(7);
  expect(quantile([1, 2, 3, 4], 0.5)).toBe(2.5);
  expect(quantile([0, 100], 0.95)).toBeCloseTo(95);
});

test("a distribution stays within its range, has every point once, and a gap where nothing was measured", () => {
  const good = [0, 10, 11, 12, 90, 400].map((at) => ({ at, value: at + 1 }));
  const bad = [{ at: 15, value: 1_000 }];
  const { x, points, quantiles } = distribution([good, bad], { from: 5, until: 105 }, [0.5, 1], 4);
  expect(x).toEqual([10, 11, 12, 15, 17.5, 42.5, 67.5, 90, 92.5]);
  expect(points[0]?.filter((value) => value !== undefined)).toEqual([11, 12, 13, 91]);
  expect(points[1]?.filter((value) => value !== undefined)).toEqual([1_000]);
  const at = (row: number) => quantiles[row]?.filter((value) => value !== undefined);
  expect(at(0)).toEqual([12.5, null, null, 91]);
  expect(at(1)).toEqual([1_000, null, null, 91]);
});

test("the bar that is met is the one whose part of the stack is there", () => {
  const drawn = stacked([bars("good", [3, 0]), bars("none", [0, 0]), bars("bad", [2, 4])]);
  expect(barAt(drawn, 0, 1)).toBe("good");
  expect(barAt(drawn, 0, 4)).toBe("bad");
  expect(barAt(drawn, 0, 6)).toBeNull();
  expect(barAt(drawn, 1, 1)).toBe("bad");
});

test("a pale colour is opaque, however its ground is written", () => {
  expect(mixed("#000000", "#fff", 0.5)).toBe("#808080");
  expect(mixed("#2b9c8c", "#14171d", 1)).toBe("#2b9c8c");
  expect(mixed("teal", "#fff", 0.5)).toBe("teal");
});

test("a value between two gaps is a point, and every minute that nobody reported is a gap", () => {
  expect(lonely([1, null, 2, 3, null, 4])).toEqual([0, 5]);
  expect(lonely([null, 7])).toEqual([1]);
  // Where another series has a value of its own, this one goes on.
  expect(lonely([1, undefined, 2, null, undefined, 3])).toEqual([5]);
  const x = minutesOf({ from: 90, until: 300 });
  expect(x).toEqual([120, 180, 240, 300]);
  const points = [120, 300].map((s) => ({ ts: new Date(s * 1_000).toISOString(), n: s }));
  expect(valuesAt(x, points, ({ n }) => n)).toEqual([120, null, null, 300]);
});
