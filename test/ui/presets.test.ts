import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Preset } from "#shared/protocol/schema/preset.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** Presets (rules/library#presets): named options for POST /jobs. */

setDefaultTimeout(180_000);

const HOSTILE = '"><script>alert(1)</script>';

let rig: UiRig;
beforeAll(async () => {
  rig = await uiRig();
});

const read = (slug: string) => rig.api<Preset>("GET", `/presets/${slug}`);

test("a preset is made; what the API refuses is said at its field (rules/web-app#forms-of-the-app)", async () => {
  await using ui = await rig.open("/ui/library/presets");
  const { page } = ui;
  await page.getByRole("button", { name: "New preset" }).first().click();
  await page.getByRole("textbox", { name: "Slug" }).fill("Not One");
  await page.getByRole("button", { name: "Save preset" }).click();
  await page.getByText("must be 1 to 64 of a-z").waitFor();
  await page.getByRole("textbox", { name: "Slug" }).fill("b-made");
  await page.getByRole("textbox", { name: "Name" }).fill(HOSTILE);
  await page.getByRole("button", { name: "Scrolling" }).click();
  await page.getByRole("switch", { name: /\bscroll$/ }).click();
  const step = page.getByRole("textbox", { name: /\bscroll_step$/ });
  await step.fill("0");
  await page.getByRole("button", { name: "Save preset" }).click();
  await page.getByText("Not saved: see scroll_step.").waitFor();
  await step.fill("80");
  await ui.judge(/422/);
  await page.getByRole("button", { name: "Save preset" }).click();
  await page.getByText(HOSTILE).waitFor();
  expect(await read("b-made")).toMatchObject({
    ...{ name: HOSTILE, options: { scroll: true, scroll_step: 80 } },
  });
  await rig.api("DELETE", "/presets/b-made");
});

test("a preset is changed, used and deleted (rules/library#presets)", async () => {
  await rig.api("PUT", "/presets/b-kept", { options: { scroll: true, scroll_step: 80 } });
  await using ui = await rig.open("/ui/library/presets");
  const { page } = ui;
  await page.getByRole("row").filter({ hasText: "b-kept" }).click();
  await page.waitForURL("**/ui/library/presets?edit=b-kept");
  await page.reload();
  await page.getByRole("textbox", { name: "Description" }).fill("For long pages");
  await page.getByRole("button", { name: "Scrolling" }).click();
  await page.getByRole("switch", { name: /\bscroll$/ }).click();
  await page.getByRole("button", { name: "Save preset" }).click();
  await page.getByText("For long pages").waitFor();
  const { description, options } = await read("b-kept");
  expect({ description, options }).toEqual({
    ...{ description: "For long pages", options: { scroll_step: 80 } },
  });
  await ui.judge();

  await page.getByRole("row").filter({ hasText: "b-kept" }).click();
  await page.getByRole("link", { name: "Use preset" }).click();
  await page.waitForURL("**/ui/captures/new?preset=b-kept");
  await page.getByRole("combobox", { name: "Preset" }).waitFor();
  await page.goBack();

  await page.getByRole("button", { name: "More for b-kept" }).click();
  await page.getByRole("menuitem", { name: "Delete preset…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete it" }).click();
  await page.getByText("Preset b-kept deleted").waitFor();
  const { presets } = await rig.api<{ presets: Preset[] }>("GET", "/presets");
  expect(presets.map(({ slug }) => slug)).not.toContain("b-kept");
});

test("the address of a preset that is gone says so (rules/web-app#addresses-of-the-app)", async () => {
  await using ui = await rig.open("/ui/library/presets?edit=b-gone");
  await ui.page.getByRole("heading", { name: "There is no preset with this name" }).waitFor();
  await ui.page.getByRole("button", { name: "Close" }).click();
  await ui.page.locator("header").getByRole("button", { name: "New preset" }).waitFor();
});
