import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** The guide as people read it: on a wide screen and a narrow one, in both colours, with the keyboard alone. */

setDefaultTimeout(180_000);

let rig: UiRig;
beforeAll(async () => {
  rig = await uiRig();
});

// Every page has the same styles: the narrowest in the one colours and the widest in the other meet all of them.
for (const { width, height, colors } of [
  { width: 1440, height: 900, colors: "light" },
  { width: 390, height: 844, colors: "dark" },
] as const)
  test(`at ${width} px in ${colors} colours every kind of page can be read, and none is wider than the screen`, async () => {
    for (const path of ["/guide", "/guide/rules/events", "/guide/search?q=lease"]) {
      await using ui = await rig.open(path, { width, height, colors });
      const wider = await ui.page.evaluate("document.documentElement.scrollWidth - innerWidth");
      expect({ path, wider }).toEqual({ path, wider: 0 });
      await ui.judge();
    }
  });

test("every page of the app leads to what the guide says of it", async () => {
  await using ui = await rig.open("/ui/captures");
  const guide = ui.page.getByRole("link", { name: "Guide" });
  expect(await guide.getAttribute("href")).toBe("/guide/rules/jobs");
  await ui.page.getByRole("link", { name: "Library" }).click();
  await until("that of the other page", 60_000, async () =>
    (await guide.getAttribute("href"))?.endsWith("/rules/hosts"),
  );
});

test("fields of every form lead to what the guide says about them (rules/web-app#forms-of-the-app)", async () => {
  await rig.api("PUT", "/hosts/help.test", {});
  const forms: [path: string, help: string, href: string][] = [
    ["/ui/captures/new", "Help: modes", "rules/jobs#modes"],
    ["/ui/browsers", "Help: profile of a run", "rules/profiles#profile-of-a-run"],
    [
      "/ui/pipelines?create=python_module",
      "Help: executor types",
      "rules/pipeline-executors#executor-types",
    ],
    ["/ui/library/hosts/help.test?tab=settings", "Help: popup policy", "rules/hosts#popup-policy"],
    ["/ui/system/settings", "Help: webhook", "rules/jobs#webhook"],
  ];
  for (const [path, name, href] of forms) {
    await using ui = await rig.open(path);
    const { page } = ui;
    if (path === "/ui/browsers")
      await page.getByRole("button", { name: "Open a session" }).first().click();
    const help = page.getByRole("link", { name }).first();
    await help.waitFor();
    await ui.judge();
    const opened = page.context().waitForEvent("page");
    await help.click();
    const guide = await opened;
    await guide.locator(`[id="${href.split("#")[1]}"]`).waitFor();
    expect(guide.url()).toBe(`${rig.url}/guide/${href}`);
    await guide.close();
  }
  await rig.api("DELETE", "/hosts/help.test");
});

test("the colours that were chosen in the app are the guide's", async () => {
  await using ui = await rig.open("/ui/captures");
  await ui.page.getByRole("button", { name: "Dark colours" }).click();
  await ui.page.goto(`${rig.url}/guide`);
  expect(await ui.page.evaluate("getComputedStyle(document.documentElement).colorScheme")).toBe(
    "dark",
  );
  await ui.judge();
});

test("with the keyboard alone: / searches, arrows go through what was found, Enter opens it", async () => {
  await using ui = await rig.open("/guide");
  const { page } = ui;
  await page.keyboard.press("/");
  await page.keyboard.type("glossary");
  const found = page.locator(".found a");
  // What the first letters found is replaced.
  await until("the glossary first", 60_000, async () => {
    const first = await page.evaluate<string | null>(
      "document.querySelector('.found a')?.pathname ?? null",
    );
    return first === "/guide/concepts/glossary";
  });
  await ui.judge();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/guide/concepts/glossary");
  await page.keyboard.press("/");
  await page.keyboard.type("lease");
  await found.first().waitFor();
  await page.keyboard.press("Escape");
  await found.first().waitFor({ state: "hidden" });
  await page.keyboard.press("Enter");
  await page.waitForURL("**/guide/search?q=lease");
  expect(await page.locator("mark").count()).toBeGreaterThan(0);
  await ui.judge();
});

test("code is copied by its button", async () => {
  await using ui = await rig.open("/guide/start/first-job");
  await ui.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const block = ui.page.locator(".code").first();
  await block.hover();
  await block.getByRole("button", { name: "Copy" }).click();
  await block.getByRole("button", { name: "Copied" }).waitFor();
  const copied = await ui.page.evaluate("navigator.clipboard.readText()");
  expect(copied).toBe(await block.locator("code").textContent());
  await ui.page.context().clearPermissions();
});
