import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PluginFolder } from "#hub/pipeline/plugins/plugin-folder.ts";
import { scanPlugins } from "#hub/pipeline/plugins/scan.ts";

let dir: string;
const write = (name: string, text: string) => writeFileSync(join(dir, "resize", name), text);
const manifest = (name: string) => JSON.stringify({ slug: "resize", name, version: "1.0.0" });

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-plugins-"));
  mkdirSync(join(dir, "resize"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

let seen: Map<string, PluginFolder> = new Map();
async function scan(): Promise<PluginFolder | undefined> {
  seen = await scanPlugins(dir, seen);
  return seen.get("resize");
}

test("a plugin is read again when a file of it changes, comes or goes, or while it has errors", async () => {
  write("plugin.json", manifest("Resize"));
  write("main.py", "def run(pk): pass\n");
  const first = await scan();
  expect(first).toMatchObject({ errors: [], manifest: { name: "Resize" } });
  expect(await scan()).toBe(first);

  write("plugin.json", manifest("Resize pictures"));
  const renamed = await scan();
  expect(renamed).toMatchObject({ errors: [], manifest: { name: "Resize pictures" } });
  write("more.py", "SIZE = 3\n");
  const longer = await scan();
  expect(longer?.sha256).not.toBe(renamed?.sha256);
  rmSync(join(dir, "resize", "more.py"));
  expect((await scan())?.sha256).toBe(renamed?.sha256);

  symlinkSync("/etc/hostname", join(dir, "resize", "link"));
  expect(await scan()).toMatchObject({ errors: ["link is a symbolic link"], sha256: null });
  rmSync(join(dir, "resize", "link"));
  expect((await scan())?.sha256).toBe(renamed?.sha256);
});
