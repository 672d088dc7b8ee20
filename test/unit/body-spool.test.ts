import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createBodySpool } from "#worker/replay/spool.ts";

/** Bodies of a replay on the worker's disk, which they share with everything else (rules/replay#limits). */

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "flotilla-body-spool-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const MB = 1_000_000;
const stored = async (): Promise<number> => {
  const names = await readdir(dir);
  // One that makes room between the two looks takes none.
  const sizeOf = async (name: string) => (await stat(join(dir, name)).catch(() => null))?.size ?? 0;
  const sizes = await Promise.all(names.map(sizeOf));
  return sizes.reduce((sum, size) => sum + size, 0);
};

test("bodies that come at the same time take no more of the disk than the bound", async () => {
  let most = 0;
  const read = async function* () {
    for (let n = 0; n < 4; n += 1) {
      yield new Uint8Array(MB);
      most = Math.max(most, await stored());
    }
  };
  const spool = createBodySpool({ dir, max_bytes: 10 * MB, read });
  const names = ["a", "b", "c", "d", "e", "f"];
  const paths = await Promise.all(names.map((name) => spool.fileOf(name, 4 * MB)));
  expect(new Set(paths).size).toBe(6);
  expect(most).toBeLessThanOrEqual(10 * MB);
  expect(await stored()).toBe(8 * MB);
});

test("one that could not be fetched gives its room back", async () => {
  let asked = 0;
  const read = async function* () {
    asked += 1;
    yield new Uint8Array(asked === 1 ? 1 : 8 * MB);
  };
  const spool = createBodySpool({ dir, max_bytes: 10 * MB, read });
  await expect(spool.fileOf("a", 8 * MB)).rejects.toThrow("it is shorter than it was");
  expect(await spool.fileOf("b", 8 * MB)).toBeString();
  await expect(spool.fileOf("c", 11 * MB)).rejects.toThrow("keeps 10000000 at most");
  expect(await stored()).toBe(8 * MB);
});
