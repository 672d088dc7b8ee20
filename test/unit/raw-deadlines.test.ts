import { expect, test } from "bun:test";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkDeadlines, countRaw, judgeRaw } from "../../scripts/raw-deadlines.ts";

test("signals that abort by the system's clock are counted, and a comment may name them", () => {
  const source = [
    "const signal = AbortSignal.timeout(CALL_MS);",
    "const over = AbortSignal.any([stopping, AbortSignal.timeout(5_000)]);",
    "// Named as AbortSignal.timeout() does.",
    "const other = AbortSignal.abort(reason);",
  ].join("\n");
  expect(countRaw(source)).toBe(2);
});

test("a raw deadline that is not listed is reported, and an entry that has none any more", () => {
  const listed = { "shared/a.ts": "it has no clock" };
  expect(judgeRaw({ "shared/a.ts": 1, "shared/b.ts": 0 }, listed)).toEqual([]);
  expect(judgeRaw({ "shared/a.ts": 2, "hub/c.ts": 1 }, listed)).toEqual([
    "shared/a.ts: 2 raw AbortSignal.timeout, at most 1: use callWithin of shared/kit/call-within.ts",
    "hub/c.ts: 1 raw AbortSignal.timeout, at most 0: use callWithin of shared/kit/call-within.ts",
  ]);
  const gone = ["shared/a.ts: has none any more: take it off raw-deadlines.ts"];
  expect(judgeRaw({ "shared/a.ts": 0 }, listed)).toEqual(gone);
  expect(judgeRaw({}, listed)).toEqual(gone);
});

test("scripts of pages and of the program are looked through, and tests are not", async () => {
  const root = await mkdtemp(join(tmpdir(), "flotilla-deadlines-"));
  try {
    for (const [folder, file] of [
      ["hub/viewer", "page.js"],
      ["shared", "a.ts"],
      ["test/unit", "a.test.ts"],
    ] as const) {
      await mkdir(join(root, folder), { recursive: true });
      await Bun.write(join(root, folder, file), "export const late = AbortSignal.timeout(5);");
    }
    const found = await checkDeadlines(root, { "shared/a.ts": "it has no clock" });
    expect(found).toEqual([
      "hub/viewer/page.js: 1 raw AbortSignal.timeout, at most 0: use callWithin of shared/kit/call-within.ts",
    ]);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
});
