import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { PluginState } from "#shared/protocol/schema/plugin.ts";
import { listTarGz } from "#test/support/clients/tar.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** Plugins in the admin UI (rules/pipeline-plugins#list-plugins). */

setDefaultTimeout(180_000);

const HOSTILE = `"><img src=x onerror=alert(1)>`;

let rig: UiRig;
beforeAll(async () => {
  rig = await uiRig();
});

async function addPlugin(slug: string, manifest: object, page?: string): Promise<AsyncDisposable> {
  const dir = join(rig.data_dir, "plugins", slug);
  await mkdir(join(dir, "web"), { recursive: true });
  await writeFile(join(dir, "plugin.json"), JSON.stringify({ slug, ...manifest }));
  if (page !== undefined) await writeFile(join(dir, "web/index.html"), page);
  return { [Symbol.asyncDispose]: () => rm(dir, { recursive: true }) };
}

test("a plugin shows its page in a frame that reaches nothing, its manifest, its state and its blobs (rules/pipeline-plugins#web-pages-of-a-plugin)", async () => {
  await using _plugin = await addPlugin(
    "e-plugin",
    { name: HOSTILE, version: "1.2.3", description: HOSTILE, web: "web" },
    `<!doctype html><title>t</title><p id="p">waits</p><script>
      try { parent.document.title; p.textContent = "reached" } catch { p.textContent = "kept apart" }
    </script>`,
  );
  await using _broken = await addPlugin("e-broken", { name: "" });
  await using ui = await rig.open("/ui/library/plugins?q=e-");
  const { page } = ui;
  await page
    .getByRole("row", { name: /e-broken/ })
    .getByText(/error/)
    .waitFor();
  await ui.judge();
  await page.getByText(HOSTILE).first().click();
  await page.getByRole("link", { name: "Open plugin" }).click();
  await page.waitForURL("**/ui/library/plugins/e-plugin");
  await page.frameLocator("iframe").getByText("kept apart").waitFor();
  await page.getByRole("tab", { name: "Manifest" }).click();
  await page.getByText('"version": "1.2.3"').waitFor();

  await page.getByRole("tab", { name: "State" }).click();
  await page.getByRole("button", { name: "New key" }).click();
  const created = page.getByRole("region", { name: "New key" });
  await created.getByLabel("Key").fill("totals/words");
  await created.getByLabel("Value").fill('{"words": 1');
  await created.getByText("This is not JSON").waitFor();
  await created.getByLabel("Value").fill('{"words": 1}');
  await created.getByRole("button", { name: "Save" }).click();
  await created.waitFor({ state: "hidden" });
  const at = "/api/v1/plugins/e-plugin/state/totals/words";
  expect((await rig.api<PluginState>("GET", at)).value).toEqual({ words: 1 });
  await page.getByRole("row", { name: /totals\/words/ }).press("Enter");
  const edited = page.getByRole("region", { name: "totals/words" });
  await edited.getByLabel("Value").fill('{"words": 2}');
  await rig.api("PUT", at, { words: 9 });
  await edited.getByRole("button", { name: "Save" }).click();
  await edited.getByText("The plugin has changed it in the meantime").waitFor();
  await edited.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete it" }).click();
  await page.getByRole("heading", { name: "No state" }).waitFor();
  await page.getByRole("tab", { name: "Blobs" }).click();
  await page.locator("input[type=file]").setInputFiles({
    ...{ name: "e-blob.txt", mimeType: "text/plain", buffer: Buffer.from("hello") },
  });
  await page.getByRole("link", { name: "e-blob.txt" }).waitFor();
  await page.getByRole("button", { name: "Delete e-blob.txt" }).click();
  await page.getByRole("button", { name: "Delete it" }).click();
  await page.getByRole("heading", { name: "No blobs" }).waitFor();
  await ui.judge(/412/);
});

test("what is downloaded are the bytes that were stored, of a plugin and of a blob under a key of its own (rules/pipeline-plugins#blobs)", async () => {
  const web = `<!doctype html><p>${HOSTILE}`;
  await using _plugin = await addPlugin(
    "e-files",
    { name: "e", version: "1.0.0", web: "web" },
    web,
  );
  const at = "/api/v1/plugins/e-files/state/seen";
  await rig.api("PUT", at, { n: 1 });
  await using ui = await rig.open("/ui/library/plugins/e-files?tab=blobs");
  const { page } = ui;
  const key = "charts/e #1?.bin";
  const buffer = Buffer.from(Array.from({ length: 70_000 }, (_, i) => (i * 7) % 256));
  await page.getByLabel("Key of the upload").fill(key);
  await page.locator("input[type=file]").setInputFiles({
    ...{ name: "other-name.bin", mimeType: "application/octet-stream", buffer },
  });
  const link = page.getByRole("link", { name: key });
  await link.waitFor();
  expect(await page.getByLabel("Key of the upload").inputValue()).toBe("");
  const blob = await page.request.get(
    new URL((await link.getAttribute("href")) ?? "", rig.url).href,
  );
  expect(blob.headers()["content-type"]).toBe("application/octet-stream");
  expect((await blob.body()).equals(buffer)).toBe(true);

  const started = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download" }).click();
  const archive = await Bun.file(await (await started).path()).bytes();
  expect(await listTarGz(archive)).toEqual({
    "plugin.json": JSON.stringify({ slug: "e-files", name: "e", version: "1.0.0", web: "web" }),
    "web/index.html": web,
  });

  await page.getByRole("tab", { name: "State" }).click();
  await page.getByRole("row", { name: /seen/ }).press("Enter");
  const edited = page.getByRole("region", { name: "seen" });
  await edited.getByLabel("Value").fill('{"n": 2}');
  await edited.getByRole("button", { name: "Save" }).click();
  await edited.waitFor({ state: "hidden" });
  expect((await rig.api<PluginState>("GET", at)).value).toEqual({ n: 2 });
  expect(ui.complaints()).toEqual([]);
});
