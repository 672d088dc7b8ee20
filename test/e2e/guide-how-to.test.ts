import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { pagesToPaste, type Reader, startReader } from "#test/support/rigs/guide-reader.ts";

/** Every command of the guide's how-tos that is not marked `no-run`, pasted by a reader who has been through the start. */

setDefaultTimeout(300_000);

let reader: Reader;
beforeAll(async () => {
  reader = await startReader();
  const start = new Map(pagesToPaste("Start").map(({ path, blocks }) => [path, blocks]));
  for (const path of ["start/install.md", "start/first-workload.md"])
    expect(await reader.read(start.get(path) ?? [])).toEqual([]);
});
afterAll(() => reader[Symbol.asyncDispose]());

for (const { path, blocks } of pagesToPaste("How to"))
  test(`${path}: every command does what the page says`, async () => {
    expect(await reader.read(blocks)).toEqual([]);
  });
