import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installExamplePlugins } from "#hub/program/demo/example-plugins.ts";

const SOURCE = join(import.meta.dir, "../../hub/program/demo/plugins");
let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "flotilla-examples-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function filesOf(dir: string): Promise<Record<string, string>> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const files = entries.filter(
    (entry) => entry.isFile() && !entry.parentPath.includes("__pycache__"),
  );
  const read = files.map(async ({ parentPath, name }) => {
    const path = join(parentPath, name);
    return [path.slice(dir.length + 1), await readFile(path, "utf8")] as const;
  });
  return Object.fromEntries(await Promise.all(read));
}

test("dev mode's example plugins are every file of their folder, word for word", async () => {
  const dir = join(root, "data/plugins");
  await installExamplePlugins(dir);
  expect(await filesOf(dir)).toEqual(await filesOf(SOURCE));
  expect(await readdir(join(root, "data"))).toEqual(["plugins"]);
});

test("a plugins folder that is there stays as it is", async () => {
  const dir = join(root, "plugins");
  await installExamplePlugins(dir);
  await rm(join(dir, "word-count"), { recursive: true });
  await writeFile(join(dir, "csv-profile/plugin.json"), "mine");
  await installExamplePlugins(dir);
  expect((await readdir(dir)).sort()).toEqual(["csv-profile", "disk-usage", "page-fetch"]);
  expect(await readFile(join(dir, "csv-profile/plugin.json"), "utf8")).toBe("mine");
});
