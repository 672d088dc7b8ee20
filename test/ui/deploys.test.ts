import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type UiPage, type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** Deploys in the admin UI (rules/pipeline-operations#deploys). */

setDefaultTimeout(180_000);

const HOSTILE = `"><img src=x onerror=alert(1)>`;

let rig: UiRig;
beforeAll(async () => {
  rig = await uiRig();
});

const deploys = async () => {
  const response = await fetch(`${rig.url}/api/v1/admin/deploy`, {
    headers: { "x-admin-password": rig.admin_password },
  });
  return ((await response.json()) as { deploys: object[] }).deploys;
};

async function openDeploys(): Promise<UiPage> {
  const ui = await rig.open("/ui/system/deploys");
  const { page } = ui;
  await page.getByRole("button", { name: "Log in as administrator" }).click();
  const login = page.getByRole("dialog", { name: "Only the administrator may do this" });
  await login.getByLabel("Administrator's password").fill(rig.admin_password);
  await login.getByRole("button", { name: "Log in" }).click();
  return ui;
}

test("the administrator starts a deploy, sees its output while it runs, and how it ended (rules/pipeline-operations#deploys)", async () => {
  await using ui = await openDeploys();
  const { page } = ui;
  const begin = page.getByRole("button", { name: "Deploy", exact: true });
  await begin.click();
  const dialog = page.getByRole("dialog", { name: "Deploy", exact: true });
  await dialog.getByLabel("Target").fill("not a target");
  await dialog.getByRole("button", { name: "Start the deploy" }).click();
  await dialog.getByText(/must be 1 to 100 letters, digits/).waitFor();
  await dialog.getByLabel("Target").fill("waits");
  await dialog.getByLabel("Arguments").fill(`--fast\n${HOSTILE}`);
  await dialog.getByRole("button", { name: "Start the deploy" }).click();
  const panel = page.getByRole("region", { name: /of waits/ });
  await panel.getByText(`deploys waits --fast ${HOSTILE}`).waitFor();
  await panel.getByText("Running", { exact: true }).waitFor();
  await ui.judge(/401|409|422/);
  await panel.getByRole("button", { name: "Close" }).click();
  await begin.click();
  await dialog.getByRole("button", { name: "Start the deploy" }).click();
  await dialog.getByText("The deploy was not started").waitFor();
  await dialog.getByRole("button", { name: "Not now" }).click();
  await dialog.waitFor({ state: "hidden" });
  await begin.click();
  await dialog.getByLabel("Target").waitFor();
  expect(await dialog.getByText("The deploy was not started").count()).toBe(0);
  await dialog.getByRole("button", { name: "Not now" }).click();
  await page.getByRole("row", { name: /waits/ }).first().press("Enter");
  await panel.getByText("Running", { exact: true }).waitFor();
  await writeFile(join(rig.data_dir, "deploy-ends"), "");
  await panel.getByText("Succeeded", { exact: true }).waitFor();
  await panel.getByText("ended", { exact: true }).waitFor();
  await panel.getByRole("button", { name: "Close" }).click();

  expect((await deploys())[0]).toMatchObject({
    ...{ target: "waits", args: ["--fast", HOSTILE], state: "succeeded", exit_code: 0 },
  });
  await ui.judge(/401|409|422/);
});

test("a deploy that fails is shown as failed, with its exit code and what it printed (rules/pipeline-operations#deploy-history)", async () => {
  await using ui = await openDeploys();
  const { page } = ui;
  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Deploy", exact: true });
  await dialog.getByLabel("Target").fill("fails");
  await dialog.getByRole("button", { name: "Start the deploy" }).click();
  const failed = page.getByRole("region", { name: /of fails/ });
  await failed.getByText("Failed", { exact: true }).waitFor();
  await failed.getByText("deploys fails", { exact: true }).waitFor();
  const exit = failed.getByRole("term").filter({ hasText: "Exit code" });
  expect(await exit.locator("xpath=following-sibling::dd").textContent()).toBe("3");
  await failed.getByRole("button", { name: "Close" }).click();
  const row = page.getByRole("row", { name: /fails/ });
  await row.getByText("Failed", { exact: true }).waitFor();
  await row.locator("[data-align=end]").getByText("3", { exact: true }).waitFor();

  expect((await deploys())[0]).toMatchObject({
    ...{ target: "fails", args: [], state: "failed", exit_code: 3, log: "deploys fails\n" },
  });
  expect(ui.complaints(/401/)).toEqual([]);
});
