import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
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
  await ui.page.waitForURL("**/ui/home");
  await ui.page
    .getByRole("navigation", { name: "Pages" })
    .getByRole("link", { name: "Captures" })
    .click();
  await ui.page.waitForURL("**/ui/captures");
  await until("its title", 60_000, async () => (await ui.page.title()) === "Captures · Flotilla");
  await ui.judge();
});

test("the palette goes to a page by its name", async () => {
  await using ui = await rig.open("/ui/captures");
  await ui.page.keyboard.press("Control+K");
  await ui.page.getByRole("textbox", { name: "Find or do" }).fill("hosts");
  await ui.page.keyboard.press("Enter");
  await ui.page.waitForURL("**/ui/library/hosts");
  await ui.judge();
});

test("g and a letter go to a page, ? lists the keys", async () => {
  await using ui = await rig.open("/ui/library/hosts");
  await ui.page.getByRole("heading", { level: 1 }).waitFor();
  // Together: what is pressed later than a second and a half after `g` is none of its sequence.
  await Promise.all([ui.page.keyboard.press("g"), ui.page.keyboard.press("j")]);
  await ui.page.waitForURL("**/ui/captures");
  await ui.page.keyboard.press("?");
  await ui.page.getByRole("dialog", { name: "Keys" }).waitFor();
  await ui.judge();
});

test("dark colours are kept for the next visit, and every text stands out from them", async () => {
  await using ui = await rig.open("/ui/captures");
  await ui.page.getByRole("button", { name: "Dark colours" }).click();
  await ui.page.reload();
  await ui.page.getByRole("button", { name: "Light colours" }).waitFor();
  await ui.judge();
});

test("a page has the chosen colours before any script of it has run (rules/web-app#places)", async () => {
  await using ui = await rig.open("/ui/captures");
  await ui.page.getByRole("button", { name: "Dark colours" }).click();
  await ui.page.getByRole("button", { name: "Light colours" }).waitFor();
  await ui.page.route("**/ui/assets/*.js", (route) => route.abort());
  await ui.page.goto(`${rig.url}/ui/pipelines`);
  await ui.page.getByText("Loading…").waitFor();
  expect(await ui.page.evaluate("getComputedStyle(document.body).backgroundColor")).toBe(
    "rgb(20, 23, 29)",
  );
  expect(ui.complaints(/net::ERR_FAILED/)).toEqual([]);
});

test("an address that is no page says so; on a phone the places are at the foot and System is in their menu", async () => {
  await using ui = await rig.open("/ui/nothing", { width: 390, height: 844 });
  await ui.page.getByRole("heading", { name: "There is no such page" }).waitFor();
  const places = ui.page.getByRole("navigation", { name: "Places" });
  await places.getByRole("link", { name: "Captures" }).click();
  await ui.page.waitForURL("**/ui/captures");
  await ui.page.getByRole("heading", { level: 1, name: "Captures" }).waitFor();
  await places.getByRole("button", { name: "Menu" }).click();
  await ui.page.getByRole("menuitem", { name: "Agents" }).click();
  await ui.page.waitForURL("**/ui/system/agents");
  await ui.page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();
  await ui.judge();
});

test("pages show under the open place alone, and what needs the width has a rail beside it (rules/web-app#places)", async () => {
  await using ui = await rig.open("/ui/library/hosts");
  const pages = ui.page.getByRole("navigation", { name: "Pages" });
  await pages.getByRole("link", { name: "Engines" }).waitFor();
  expect(await pages.getByRole("link", { name: "Schedules" }).count()).toBe(0);
  await pages.getByRole("link", { name: "Captures" }).click();
  await pages.getByRole("link", { name: "Schedules" }).waitFor();
  expect(await pages.getByRole("link", { name: "Engines" }).count()).toBe(0);
  const wide = async () => (await ui.page.locator(".side").boundingBox())?.width;
  expect(await wide()).toBe(208);
  await ui.page.goto(`${rig.url}/ui/captures/none`);
  await ui.page.getByRole("heading", { level: 1 }).waitFor();
  expect(await wide()).toBe(52);
  await ui.judge(/status of 404/);
});

test("an address of before leads to its page with its query, from the server and inside the app (rules/web-app#addresses-of-the-app)", async () => {
  await using ui = await rig.open("/ui/pull-workers?q=old");
  await ui.page.waitForURL("**/ui/system/workers?kind=pipeline&q=old");
  await ui.page.evaluate("history.pushState(null, '', '/ui/library')");
  await ui.page.waitForURL("**/ui/library/hosts");
  await ui.page.evaluate("history.pushState(null, '', '/ui/jobs?q=old')");
  await ui.page.waitForURL("**/ui/captures?q=old");
});

test("density is kept for the next visit and makes rows lower", async () => {
  await using ui = await rig.open("/ui/library/hosts");
  await ui.page.getByRole("button", { name: "Colours, density and help" }).click();
  await ui.page.getByRole("menuitem", { name: "Compact" }).click();
  await ui.page.reload();
  await ui.page.getByRole("heading", { level: 1 }).waitFor();
  const row = "getComputedStyle(document.documentElement).getPropertyValue('--row')";
  expect(await ui.page.evaluate<string>(row)).toBe("28px");
});
