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
  const app = { "hub/ui/client/d.tsx": 92 };
  const tests = { "test/a.test.ts": 80, "test/ui/d.test.ts": 23, "test/unit/ui-d.test.ts": 23 };
  expect(judgeWhole({ ...sources, ...app }, tests)).toEqual({
    said: "4 files, median 91 lines, longest 300; tests 0.80 of the program, 0.50 of the app",
    problems: ["half of the files have more than 91 lines; at most 90"],
  });
  const few = { "test/a.test.ts": 70, "test/ui/d.test.ts": 9 };
  expect(judgeWhole({ ...sources, ...app, "hub/b.ts": 10 }, few).problems).toEqual([
    "tests have 0.636 of the program's lines; at least 0.77",
    "tests have 0.098 of the app's lines; at least 0.24",
  ]);
});
