import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import {
  pagesToPaste,
  type Reader,
  readmeToPaste,
  startReader,
  unseen,
} from "#test/support/rigs/guide-reader.ts";

/**
 * Every command of the README and of the guide's pages that are no how-tos, as it stands there, pasted in order by a
 * reader with a fresh home.
 */

setDefaultTimeout(300_000);

let reader: Reader;
beforeAll(async () => {
  reader = await startReader();
});
afterAll(() => reader[Symbol.asyncDispose]());

test("a text that a page shows is seen for any numbers, and missed when it is not there", () => {
  const screen = '  2  +1.03s info done\n{"pending":8500,"claimed":12}\n';
  expect(unseen('  10    +0.029s  info  done\n…\n{"pending":1,"claimed":0}\n', screen)).toEqual([]);
  expect(unseen('{"pending":1,…}\n', screen)).toEqual([]);
  expect(unseen("info failed\n", screen)).toEqual(["info failed"]);
  // The order counts.
  expect(unseen('{"pending":1,"claimed":0}\ninfo done\n', screen)).toEqual(["info done"]);
});

const PAGES = [readmeToPaste(), ...["Start", "Concepts", "Reference"].flatMap(pagesToPaste)];
for (const { path, blocks } of PAGES)
  test(`${path}: every command does what the page says`, async () => {
    expect(await reader.read(blocks)).toEqual([]);
  });
