import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type UiRig, uiRig } from "#test/support/ui-rig.ts";

/** Pipeline spec §4.6: deploys in the admin UI. */

setDefaultTimeout(60_000);

const HOSTILE = `"><img src=x onerror=alert(1)>`;

let rig: UiRig;
beforeAll(async () => {
  rig = await uiRig();
});

test("§4.6 the administrator starts a deploy, sees its output while it runs, and how it ended", async () => {
  await using ui = await rig.open("/ui/deploys");
  const { page } = ui;
  await page.getByRole("button", { name: "Log in as administrator" }).click();
  const login = page.getByRole("dialog", { name: "Only the administrator may do this" });
  await login.getByLabel("Administrator's password").fill(rig.admin_password);
  await login.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Deploy", exact: true });
  await dialog.getByLabel("Target").fill("not a target");
  await dialog.getByRole("button", { name: "Start the deploy" }).click();
  await dialog.getByText(/must match pattern|Invalid/).waitFor();
  await dialog.getByLabel("Target").fill("waits");
  await dialog.getByLabel("Arguments").fill(`--fast\n${HOSTILE}`);
  await dialog.getByRole("button", { name: "Start the deploy" }).click();
  const panel = page.getByRole("dialog", { name: /of waits/ });
  await panel.getByText(`deploys waits --fast ${HOSTILE}`).waitFor();
  await panel.getByText("running", { exact: true }).waitFor();
  await ui.judge(/401|422/);
  await writeFile(join(rig.data_dir, "deploy-ends"), "");
  await panel.getByText("succeeded", { exact: true }).waitFor();
  await panel.getByText("ended", { exact: true }).waitFor();
  await panel.getByRole("button", { name: "Close" }).click();
  const response = await fetch(`${rig.url}/api/v1/admin/deploy`, {
    headers: { "x-admin-password": rig.admin_password },
  });
  const { deploys } = (await response.json()) as { deploys: { target: string; args: string[] }[] };
  expect(deploys[0]).toMatchObject({ target: "waits", args: ["--fast", HOSTILE], exit_code: 0 });
  await page.getByRole("row", { name: /waits/ }).first().waitFor();
  await ui.judge(/401|422/);
});
