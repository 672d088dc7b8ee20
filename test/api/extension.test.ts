import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(() => hub.close());

describe("GET /profiles/extension/install (rules/hosts#cookie-sync-extension)", () => {
  test("is a page with instructions, the zip and every file", async () => {
    const page = await hub.call("GET", "/profiles/extension/install");
    expect(page.status).toBe(200);
    expect(page.headers.get("content-type")).toContain("text/html");
    expect(page.text).toContain("chrome://extensions");
    expect(page.text).toContain('href="/profiles/extension.zip"');
    const files = [...page.text.matchAll(/href="(\/profiles\/extension\/files\/[^"]+)"/g)];
    expect(files.length).toBeGreaterThan(8);
    for (const [, href = ""] of files)
      expect((await hub.call("GET", href)).headers.get("content-disposition")).toContain(
        "attachment",
      );
    expect((await hub.call("GET", "/profiles/extension/files/files.ts")).status).toBe(404);
  });

  test("the zip unpacks to one folder whose files are those served one by one, with this hub's address", async () => {
    const dir = mkdtempSync(join(tmpdir(), "flotilla-zip-"));
    try {
      const answer = await fetch(`${hub.url}/profiles/extension.zip`);
      expect(answer.headers.get("content-type")).toBe("application/zip");
      const archive = join(dir, "extension.zip");
      await Bun.write(archive, answer);
      const unpack = Bun.spawnSync(["unzip", "-q", archive, "-d", dir]);
      expect(unpack.stderr.toString()).toBe("");
      const folder = join(dir, "flotilla-cookie-sync");
      const manifest = await Bun.file(join(folder, "manifest.json")).json();
      expect(manifest).toMatchObject({ manifest_version: 3, permissions: ["cookies", "storage"] });
      expect(await Bun.file(join(folder, "config.json")).json()).toEqual({ hub: hub.url });
      const named = [
        manifest.background.service_worker,
        manifest.action.default_popup,
        manifest.options_ui.page,
        "cookies.js",
        "settings.js",
        "style.css",
        "popup.js",
        "options.js",
      ];
      for (const name of named)
        expect(await Bun.file(join(folder, name)).text()).toBe(
          (await hub.call("GET", `/profiles/extension/files/${name}`)).text,
        );
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });
});
