import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Setting } from "#shared/schema/operations.ts";
import { startLlmServer } from "#test/support/llm-server.ts";
import { type UiRig, uiRig } from "#test/support/ui-rig.ts";

/** Pipeline spec §4.6: the control plane's settings in the admin UI. */

setDefaultTimeout(60_000);

const HOSTILE = `"><img src=x onerror=alert(1)>`;

let rig: UiRig;
beforeAll(async () => {
  rig = await uiRig();
});

test("§4.6 the administrator stores engines and tests one; a setting goes back to its default; variables are only shown", async () => {
  await using llm = await startLlmServer({
    script: [{ kind: "answer", text: HOSTILE, times: 0, plain: true }],
  });
  await using ui = await rig.open("/ui/settings?edit=llm_engines");
  const { page } = ui;
  const read = async (key: string) =>
    (await rig.api<{ settings: Setting[] }>("GET", "/api/v1/settings")).settings.find(
      (setting) => setting.key === key,
    );
  const panel = page.getByRole("dialog", { name: "llm_engines" });
  await panel.getByRole("button", { name: "Add an engine" }).click();
  await panel.getByLabel("Name").fill("e-llm");
  await panel.getByLabel("URL").fill("nowhere");
  await panel.getByRole("button", { name: "Save" }).click();
  const login = page.getByRole("dialog", { name: "Only the administrator may do this" });
  await login.getByLabel("Administrator's password").fill(rig.admin_password);
  await login.getByRole("button", { name: "Log in" }).click();
  await panel.getByText(/value\.0\.url/).waitFor();
  await panel.getByLabel("URL").fill(llm.url);
  await panel.getByRole("button", { name: "Save" }).click();
  await panel.waitFor({ state: "hidden" });
  expect((await read("llm_engines"))?.value).toEqual([
    { name: "e-llm", url: llm.url, model: null, api_key_env: null },
  ]);
  await page.getByRole("button", { name: "Test", exact: true }).click();
  await page.getByText(HOSTILE).waitFor();
  await page.getByRole("row", { name: /llm_engines/ }).press("Enter");
  await panel.getByRole("button", { name: "Reset" }).click();
  await page.getByRole("button", { name: "Go back to it" }).click();
  await panel.waitFor({ state: "hidden" });
  expect(await read("llm_engines")).toMatchObject({ value: [], source: "default" });
  await page.getByLabel("Filter settings").fill("worker_secret");
  await page.getByRole("table", { name: "Settings that variables set" }).waitFor();
  await ui.judge(/401|422/);
});
