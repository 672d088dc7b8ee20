import { expect, test } from "bun:test";
import { isNestedDeeper, MAX_NESTING, parseJson } from "#shared/kit/json.ts";

const nested = (levels: number, inner = "") => "[".repeat(levels) + inner + "]".repeat(levels);
const objects = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

test("as many levels as the limit pass, one more does not, of arrays, objects and both", () => {
  for (const make of [nested, objects]) {
    expect(isNestedDeeper(make(MAX_NESTING))).toBeFalse();
    expect(isNestedDeeper(make(MAX_NESTING + 1))).toBeTrue();
  }
  expect(isNestedDeeper(nested(3, objects(2)), 5)).toBeFalse();
  expect(isNestedDeeper(nested(3, objects(2)), 4)).toBeTrue();
});

test("brackets side by side, and those within strings, are no levels", () => {
  expect(isNestedDeeper(`[${"[],{}".repeat(10_000)}]`, 2)).toBeFalse();
  for (const text of [
    "[[[[",
    "\\",
    '"[[[',
    '\\"[[[',
    "\\\\",
    "ä[[[€[[😀[[",
    "\u0000[[",
    '\\\\"[[[',
  ])
    expect(isNestedDeeper(JSON.stringify([text, { [text]: text }]), 2)).toBeFalse();
  expect(isNestedDeeper('["\\\\",[["\\""]]]', 2)).toBeTrue();
});

test("the end of a string is found wherever its quotes and backslashes are", () => {
  for (let length = 0; length < 80; length += 1)
    for (const end of ["", '"', "\\", '\\"', '"\\', "\\\\", '[[[\\"[[['])
      for (const text of [`${"x".repeat(length)}${end}`, `${"\\".repeat(length)}${end}`]) {
        const json = JSON.stringify([text, [text, { [text]: [] }]]);
        expect(isNestedDeeper(json, 4)).toBeFalse();
        expect(isNestedDeeper(json, 3)).toBeTrue();
      }
});

test("bytes and text are told alike, and what is no JSON ends the look without an error", () => {
  for (const text of [nested(9), objects(9), '["ä', '["\\', "]]]]]]]]]]]]", '"'.repeat(11), ""])
    expect(isNestedDeeper(new TextEncoder().encode(text), 5)).toBe(isNestedDeeper(text, 5));
});

test("for JSON of any shape it agrees with a count of the levels of what was parsed", () => {
  const depthOf = (value: unknown): number =>
    typeof value === "object" && value !== null
      ? 1 + Math.max(0, ...Object.values(value).map(depthOf))
      : 0;
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  const STRINGS = ["", '"', "\\", "[{", "}]", "ä€😀", '\\"', "\n"];
  const make = (left: number): unknown => {
    if (left === 0 || random(4) === 0) return STRINGS[random(STRINGS.length)];
    const inner = Array.from({ length: random(3) + 1 }, () => make(left - 1));
    return random(2) === 0
      ? inner
      : Object.fromEntries(inner.map((v, i) => [`${STRINGS[i]}${i}`, v]));
  };
  const wrong: string[] = [];
  for (let i = 0; i < 100; i += 1) {
    const value = make(6);
    const [text, depth] = [JSON.stringify(value, null, random(2)), depthOf(value)];
    for (const most of [1, 2, 3, 5, 6])
      if (isNestedDeeper(text, most) !== depth > most) wrong.push(`${most}: ${text}`);
  }
  expect(wrong).toEqual([]);
});

test("parseJson parses what is not too deep, and says why it refuses the rest", () => {
  expect(parseJson('{"a": [1, "["]}')).toEqual({ a: [1, "["] });
  expect(() => parseJson(objects(100_000))).toThrow("nested more than 512 levels deep");
  expect(() => parseJson("[".repeat(800_000))).toThrow("nested more than 512 levels deep");
  expect(() => parseJson("{")).toThrow(SyntaxError);
});

test("1 MB of usual JSON is looked at in about the time that its parsing takes", () => {
  const row = {
    pk: "order-1234",
    extra: { url: "http://site.test/a?b=c", tags: ["a", "b"], n: 12.5 },
  };
  const bytes = new TextEncoder().encode(JSON.stringify({ items: Array(12_000).fill(row) }));
  expect(bytes.length).toBeGreaterThan(900_000);
  const text = new TextDecoder().decode(bytes);
  const least = (work: () => unknown) => {
    let best = Infinity;
    for (let i = 0; i < 30; i += 1) {
      const since = performance.now();
      work();
      best = Math.min(best, performance.now() - since);
    }
    return best;
  };
  const [look, parse] = [least(() => isNestedDeeper(bytes)), least(() => JSON.parse(text))];
  console.log(
    `depth of ${bytes.length} bytes: ${look.toFixed(2)} ms, JSON.parse ${parse.toFixed(2)} ms`,
  );
  // Half of it, once compiled; a machine too busy to compile it takes 1.5 times as long.
  expect(look).toBeLessThan(5 * parse);
});
