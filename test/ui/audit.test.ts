import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Session } from "#shared/protocol/schema/session.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** Who changed what, and links for people without a token. */

setDefaultTimeout(180_000);

let rig: UiRig;
beforeAll(async () => {
  rig = await uiRig();
});

test("the administrator reads who changed what, by filters that stand in the address", async () => {
  await rig.api("PUT", "/hosts/audited.example", {});
  await using ui = await rig.open("/ui/system/audit?method=PUT");
  const { page } = ui;
  const login = page.getByRole("dialog", { name: "Only the administrator may do this" });
  await login.getByLabel("Administrator's password").fill(rig.admin_password);
  await login.getByRole("button", { name: "Log in" }).click();
  const table = page.getByRole("table", { name: "Audit log" });
  const row = table.getByRole("row", { name: /PUT \/hosts\/audited\.example/ }).first();
  await row.waitFor();
  expect(await table.getByText("POST", { exact: false }).count()).toBe(0);
  await row.press("Enter");
  const panel = page.getByRole("region", { name: "Call" });
  await panel.getByText("/hosts/:host").waitFor();
  await panel.getByRole("button", { name: "Close" }).click();
  await page.getByRole("textbox", { name: "Caller or address" }).fill("10.9.9.9");
  await page.getByRole("textbox", { name: "Caller or address" }).press("Enter");
  await page.getByText("No entries").waitFor();
  expect(new URL(page.url()).searchParams.get("who")).toBe("10.9.9.9");
  await ui.judge(/401/);
});

test("beside a viewer a link is made that shows it, and a look takes nothing over", async () => {
  const body = { url: `${rig.site}/page`, headless: true };
  const { session_id } = await rig.api<Session>("POST", "/sessions", body);
  try {
    await using ui = await rig.open(`/ui/browsers/${session_id}`);
    const { page } = ui;
    await page.getByRole("button", { name: "Share the viewer by a link" }).click();
    const dialog = page.getByRole("dialog", { name: "Share this viewer" });
    await dialog.getByRole("button", { name: "Create a link" }).click();
    const url = await dialog.getByLabel("Link", { exact: true }).inputValue();
    expect(url).toContain("view_only=true");
    expect(url).not.toContain(session_id);
    const shown = await fetch(url);
    expect(shown.status).toBe(200);
    expect(await shown.text()).toContain("viewer.js");
    await dialog.getByText("Take over").click();
    await dialog.getByRole("button", { name: "Create a link" }).click();
    // The first one is shown until the second is there.
    const second = await until("another link", 60_000, async () => {
      const shown = await dialog.getByLabel("Link", { exact: true }).inputValue();
      return shown !== url && shown;
    });
    expect(second).not.toContain("view_only");
    await ui.judge();
    // As whoever was given it opens it.
    await page.goto(url);
    await page.getByText("Connected, view only").waitFor();
    expect(await page.getByRole("button", { name: "Clipboard" }).isVisible()).toBe(false);
    await rig.api("DELETE", `/sessions/${session_id}`);
    await page
      .getByText(/^Session ended/)
      .first()
      .waitFor();
  } finally {
    await rig.api("DELETE", `/sessions/${session_id}`).catch(() => {});
  }
});
