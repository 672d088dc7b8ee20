import { beforeAll, setDefaultTimeout, test } from "bun:test";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** The admin UI at the hub's address (rules/web-app#where-it-is): what stands around every page. */

setDefaultTimeout(180_000);

let rig: UiRig;
beforeAll(async () => {
  rig = await uiRig();
});

test("the address of the hub leads to the first page (rules/web-app#where-it-is)", async () => {
  await using ui = await rig.open("/");
  await ui.page.waitForURL("**/ui/wall");
  await ui.page
    .getByRole("navigation", { name: "Pages" })
    .getByRole("link", { name: "Jobs" })
    .click();
  await ui.page.waitForURL("**/ui/jobs");
  await until("its title", 60_000, async () => (await ui.page.title()) === "Jobs · Flotilla");
  await ui.judge();
});

test("the palette goes to a page by its name", async () => {
  await using ui = await rig.open("/ui/jobs");
  await ui.page.keyboard.press("Control+K");
  await ui.page.getByRole("textbox", { name: "Go to a page" }).fill("hosts");
  await ui.page.keyboard.press("Enter");
  await ui.page.waitForURL("**/ui/hosts");
  await ui.judge();
});

test("g and a letter go to a page, ? lists the keys", async () => {
  await using ui = await rig.open("/ui/hosts");
  await ui.page.getByRole("heading", { level: 1 }).waitFor();
  // Together: what is pressed later than a second and a half after `g` is none of its sequence.
  await Promise.all([ui.page.keyboard.press("g"), ui.page.keyboard.press("j")]);
  await ui.page.waitForURL("**/ui/jobs");
  await ui.page.keyboard.press("?");
  await ui.page.getByRole("dialog", { name: "Keys" }).waitFor();
  await ui.judge();
});

test("dark colours are kept for the next visit, and every text stands out from them", async () => {
  await using ui = await rig.open("/ui/jobs");
  await ui.page.getByRole("button", { name: "Dark colours" }).click();
  await ui.page.reload();
  await ui.page.getByRole("button", { name: "Light colours" }).waitFor();
  await ui.judge();
});

test("an address that is no page says so; on a small screen the navigation opens with its button", async () => {
  await using ui = await rig.open("/ui/nothing", { width: 390, height: 844 });
  await ui.page.getByRole("heading", { name: "There is no such page" }).waitFor();
  await ui.page.getByRole("button", { name: "Navigation" }).click();
  await ui.page.getByRole("link", { name: "Jobs" }).click();
  await ui.page.waitForURL("**/ui/jobs");
  await ui.judge();
});
