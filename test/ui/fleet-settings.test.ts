import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { FleetSettings } from "#shared/protocol/schema/fleet-settings.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** The fleet's settings in the admin UI (rules/settings#change-settings). */

setDefaultTimeout(180_000);

let rig: UiRig;
beforeAll(async () => {
  rig = await uiRig();
});

test("settings are changed together, a wrong one says so at its field, and each goes back to its default (rules/settings#change-settings)", async () => {
  await using ui = await rig.open("/ui/system/settings");
  const { page } = ui;
  const read = async () => (await rig.api<FleetSettings>("GET", "/settings")).settings;
  await page.getByLabel("Keep captures for", { exact: true }).fill("99999");
  await page.locator("input[aria-label='Origins that may call']").fill("https://e.example");
  await page.locator("input[aria-label='Origins that may call']").press("Enter");
  await page.getByRole("button", { name: "Save 2 changes" }).click();
  const login = page.getByRole("dialog", { name: "Only the administrator may do this" });
  await login.getByLabel("Administrator's password").fill(rig.admin_password);
  await login.getByRole("button", { name: "Log in" }).click();
  await page
    .getByText(/must be at most 36500/)
    .last()
    .waitFor();
  expect((await read()).cors_origins).toEqual([]);
  await page.getByLabel("Keep captures for", { exact: true }).fill("30");
  await page.getByRole("button", { name: "Save 2 changes" }).click();
  await page.getByText("Saved Keep captures for, Origins that may call").waitFor();
  expect(await read()).toMatchObject({ retention_days: 30, cors_origins: ["https://e.example"] });
  await page.getByLabel("Webhook for every job", { exact: true }).fill("http://127.0.0.1:9/e");
  await page.getByRole("button", { name: "Discard" }).click();
  expect(await page.getByLabel("Webhook for every job", { exact: true }).inputValue()).toBe("");
  for (const key of ["Keep captures for", "Origins that may call"]) {
    await page.getByRole("button", { name: `Reset ${key}` }).click();
    await page.getByText(`${key} has its default value again`).waitFor();
  }
  expect(await read()).toMatchObject({ retention_days: 0, cors_origins: [] });
  await ui.judge(/401|422/);
});
