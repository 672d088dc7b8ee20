import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { pagesToPaste, type Reader, startReader } from "#test/support/rigs/guide-reader.ts";

/** Every command of the guide's how-tos that is marked `sh`, pasted by a reader who has installed the program. */

setDefaultTimeout(300_000);

let reader: Reader;
beforeAll(async () => {
  reader = await startReader();
  const install = pagesToPaste("Start").find(({ path }) => path === "start/install.md");
  expect(await reader.read(install?.blocks ?? [])).toEqual([]);
});
afterAll(() => reader[Symbol.asyncDispose]());

for (const { path, blocks } of pagesToPaste("How to"))
  test(`${path}: every command does what the page says`, async () => {
    expect(await reader.read(blocks)).toEqual([]);
  });
