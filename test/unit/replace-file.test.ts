import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { replaceFile } from "#shared/kit/replace-file.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-replace-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test("a file is replaced as a whole, for its owner alone, and leaves nothing beside it", async () => {
  const path = join(dir, "state.json");
  await replaceFile(path, "the first, which is longer");
  await replaceFile(path, "the second");
  expect(readFileSync(path, "utf8")).toBe("the second");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(dir)).toEqual(["state.json"]);
});

test("what lies in the place of the new file is not written through", async () => {
  const other = join(dir, "other");
  await replaceFile(other, "somebody else's");
  symlinkSync(other, join(dir, `state.json.${process.pid}.new`));
  await replaceFile(join(dir, "state.json"), "mine");
  expect(readFileSync(other, "utf8")).toBe("somebody else's");
  expect(readFileSync(join(dir, "state.json"), "utf8")).toBe("mine");
});

test("a directory that is not there is an error, and nothing is made", async () => {
  await expect(replaceFile(join(dir, "none", "state.json"), "x")).rejects.toThrow("ENOENT");
  expect(readdirSync(dir)).toEqual([]);
});
