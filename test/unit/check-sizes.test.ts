import { expect, test } from "bun:test";
import { judge, judgeWhole, medianOf, readParts } from "../../scripts/check-sizes.ts";

test("functions are named by their declaration, variable, property or method, and inner ones by their owner", () => {
  const text = [
    "export function declared() {",
    "}",
    "const arrow = () => {",
    "  return [1].map((n) => {",
    "    return n;",
    "  });",
    "};",
    "class C {",
    "  method() {}",
    "}",
    "export const o = { prop: async () => {} };",
  ].join("\n");
  expect(readParts("a.ts", text).functions).toEqual({
    "a.ts declared": 2,
    "a.ts arrow": 5,
    "a.ts method": 1,
    "a.ts prop": 1,
  });
});

test("an object literal that is spread into another one is told with its line", () => {
  const text = [
    "const o = {",
    "  ...{ a: 1, b: 2 },",
    "  ...other,",
    "  ...(other && { c: 3 }),",
    "};",
    "call({ d: [{ ...{ e: 4 } }] });",
  ].join("\n");
  const told = "name the fields instead of spreading a literal";
  expect(readParts("a.ts", text).spreads).toEqual([`a.ts:2: ${told}`, `a.ts:6: ${told}`]);
});

test("what is new and too long, has grown, or has shrunk is told; the rest is not", () => {
  const listed = { "a.ts old": 120, "a.ts grown": 100, "a.ts shrunk": 100, "a.ts gone": 90 };
  const found = {
    "a.ts old": 120,
    "a.ts grown": 101,
    "a.ts shrunk": 99,
    "a.ts new": 81,
    "a.ts short": 80,
  };
  expect(judge(found, listed, 80)).toEqual([
    "a.ts grown has 101 lines; at most 100",
    "a.ts new has 81 lines; at most 80",
    "a.ts shrunk is listed with 100 lines and has 99",
    "a.ts gone is listed with 90 lines and has fewer",
  ]);
});

test("the median file and the share of tests are judged; scripts count as files, not as the product", () => {
  expect([medianOf([3, 1, 2]), medianOf([4, 1, 2, 3]), medianOf([])]).toEqual([2, 2.5, 0]);
  const sources = { "hub/a.ts": 90, "worker/b.ts": 10, "scripts/c.ts": 300 };
  expect(judgeWhole(sources, { "test/a.test.ts": 70 })).toEqual({
    said: "3 files, median 90 lines, longest 300; tests 0.70 of the product",
    problems: [],
  });
  expect(judgeWhole({ ...sources, "hub/d.ts": 92 }, { "test/a.test.ts": 70 }).problems).toEqual([
    "half of the files have more than 91 lines; at most 90",
    "tests have 0.365 of the product's lines; at least 0.7",
  ]);
});
