import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { makeTarGz } from "#test/support/clients/tar.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** Browser profiles in the admin UI (rules/profiles#profile-record). */

setDefaultTimeout(180_000);

let rig: UiRig;
beforeAll(async () => {
  rig = await uiRig();
});

const archive = async (name: string, mimeType = "application/gzip") => ({
  name,
  mimeType,
  buffer: await makeTarGz([
    ["Default/Preferences", "{}"],
    ["Default/Cookies", "cookies"],
  ]),
});

interface Listed {
  profiles: { name: string; files: number; is_default: boolean }[];
}
const profile = async (name: string) =>
  (await rig.api<Listed>("GET", "/profiles")).profiles.find((one) => one.name === name);

test("a profile is uploaded, made the default and not, replaced and deleted (rules/profiles#upload-a-profile)", async () => {
  await using ui = await rig.open("/ui/library/profiles?upload=1");
  const { page } = ui;
  const form = page.getByRole("form", { name: "Upload a profile" });
  await page.locator("input[type=file]").setInputFiles(await archive("D Work.tar.gz"));
  await until("a name from the file's", 60_000, async () => {
    return (await form.getByLabel("Name").inputValue()) === "d-work";
  });
  await form.getByRole("button", { name: "Upload", exact: true }).click();
  const row = page.getByRole("row").filter({ hasText: "d-work" });
  await row.waitFor();
  expect(await profile("d-work")).toMatchObject({ files: 2, is_default: false });

  await row.click();
  const detail = page.getByRole("region", { name: "d-work" });
  await detail.getByRole("button", { name: "Make default" }).click();
  await detail.getByRole("button", { name: "Clear default" }).waitFor();
  await row.getByText("Default", { exact: true }).waitFor();
  expect((await profile("d-work"))?.is_default).toBe(true);
  await ui.judge();
  await detail.getByRole("button", { name: "Clear default" }).click();
  await detail.getByRole("button", { name: "Make default" }).waitFor();
  expect((await profile("d-work"))?.is_default).toBe(false);

  await page.getByRole("button", { name: "Upload profile" }).click();
  await page.locator("input[type=file]").setInputFiles(await archive("again.tgz"));
  await form.getByLabel("Name").fill("d-work");
  await form.getByText("will be replaced").waitFor();
  await form.getByRole("button", { name: "Upload and replace" }).click();
  await page.getByText("d-work is stored").last().waitFor();

  await row.click();
  await page.getByRole("button", { name: "More for d-work" }).click();
  await page.getByRole("menuitem", { name: "Delete profile…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await row.waitFor({ state: "detached" });
  expect(await profile("d-work")).toBeUndefined();
});

test("what is no profile is refused in words; the name is checked by the API (rules/profiles#shapes-of-an-archive)", async () => {
  await using ui = await rig.open("/ui/library/profiles?upload=1");
  const { page } = ui;
  const form = page.getByRole("form", { name: "Upload a profile" });
  await page.locator("input[type=file]").setInputFiles(await archive("x.tar.gz"));
  await form.getByLabel("Name").fill("Not A Name");
  await form.getByRole("button", { name: "Upload", exact: true }).click();
  await form.getByText("must consist of a-z, 0-9, hyphen and underscore").waitFor();
  await page.locator("input[type=file]").setInputFiles({
    ...{ name: "notes.tar.gz", mimeType: "application/gzip", buffer: Buffer.from("no archive") },
  });
  await form.getByLabel("Name").fill("d-notes");
  await form.getByRole("button", { name: "Upload", exact: true }).click();
  await form.getByRole("alert").waitFor();
  expect(await profile("d-notes")).toBeUndefined();
  await ui.judge(/4(00|15|22)/);
});

test("an upload tells how far it is, and can be cancelled (rules/profiles#upload-a-profile)", async () => {
  await using ui = await rig.open("/ui/library/profiles?upload=1");
  const { page } = ui;
  const form = page.getByRole("form", { name: "Upload a profile" });
  const sent = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  await page.route("**/profiles/d-slow", async (route) => {
    sent.resolve();
    await go.promise;
    await route.abort().catch(() => {});
  });
  await page.locator("input[type=file]").setInputFiles(await archive("d-slow.tar.gz"));
  await form.getByRole("button", { name: "Upload", exact: true }).click();
  await sent.promise;
  await form.getByRole("progressbar").waitFor({ state: "attached" });
  await form.getByText(/^\d+ B( of \d+ B)? sent/).waitFor();
  await form.getByRole("button", { name: "Cancel the upload" }).click();
  await form.getByText("Cancelled: nothing was stored").waitFor();
  go.resolve();
  expect(await profile("d-slow")).toBeUndefined();
});

test("the extension is downloaded from the page that says how to install it (rules/hosts#cookie-sync-extension)", async () => {
  await using ui = await rig.open("/ui/library/profiles", {
    width: 390,
    height: 844,
    colors: "dark",
  });
  const { page } = ui;
  const waiting = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download the extension" }).click();
  const download = await waiting;
  expect(download.suggestedFilename()).toBe("flotilla-cookie-sync.zip");
  const wide = "document.documentElement.scrollWidth > innerWidth";
  await until("no sideways scrolling", 60_000, async () => !(await page.evaluate(wide)));
  await ui.judge();
});
