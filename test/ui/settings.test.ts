import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Locator } from "playwright-core";
import type { Setting } from "#shared/protocol/schema/operations.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiPage, type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";
import { startLlmServer } from "#test/support/servers/llm-server.ts";

/** The control plane's settings in the admin UI (rules/pipeline-operations#settings). */

setDefaultTimeout(180_000);

const HOSTILE = `"><img src=x onerror=alert(1)>`;

let rig: UiRig;
beforeAll(async () => {
  rig = await uiRig();
});

const read = async (key: string) =>
  (await rig.api<{ settings: Setting[] }>("GET", "/api/v1/settings")).settings.find(
    (setting) => setting.key === key,
  );

async function logIn({ page }: UiPage) {
  const login = page.getByRole("dialog", { name: "Only the administrator may do this" });
  await login.getByLabel("Administrator's password").fill(rig.admin_password);
  await login.getByRole("button", { name: "Log in" }).click();
}

test("the administrator stores engines and tests one; a setting goes back to its default; variables are only shown (rules/pipeline-operations#write-a-setting)", async () => {
  await using llm = await startLlmServer({
    script: [{ kind: "answer", text: HOSTILE, times: 0, plain: true }],
  });
  await using ui = await rig.open("/ui/system/settings?part=pipeline&edit=llm_engines");
  const { page } = ui;
  const panel = page.getByRole("region", { name: "llm_engines" });
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
  await page.getByRole("combobox", { name: "Engine" }).click();
  await page.getByRole("option", { name: "e-llm" }).click();
  await page.getByRole("button", { name: "Test", exact: true }).click();
  await page.getByText(HOSTILE).waitFor();
  await page.getByRole("row", { name: /llm_engines/ }).press("Enter");
  await panel.getByRole("button", { name: "Reset" }).click();
  await page.getByRole("button", { name: "Go back to it" }).click();
  await panel.waitFor({ state: "hidden" });
  expect(await read("llm_engines")).toMatchObject({ value: [], source: "default" });
  // The engine that was chosen is gone.
  await page.getByLabel("URL", { exact: true }).waitFor();
  await page.getByLabel("Filter settings").fill("worker_secret");
  await page.getByRole("table", { name: "Settings that variables set" }).waitFor();
  await ui.judge(/401|422/);
});

test("several engines keep their order; what is wrong with the second is said at its field (rules/pipeline-operations#write-a-setting)", async () => {
  await using ui = await rig.open("/ui/system/settings?part=pipeline&edit=llm_engines");
  const { page } = ui;
  const panel = page.getByRole("region", { name: "llm_engines" });
  const nth = (n: number) => panel.getByRole("group").nth(n);
  const save = panel.getByRole("button", { name: "Save" });
  for (const [n, name] of ["e-first", "e-second", "e-third"].entries()) {
    await panel.getByRole("button", { name: "Add an engine" }).click();
    await nth(n).getByLabel("Name").fill(name);
    await nth(n)
      .getByLabel("URL")
      .fill(n === 1 ? "ftp://x" : `http://127.0.0.1:${n + 1}/v1`);
  }
  await nth(1).getByLabel("Variable with its key").fill("NOT A NAME");
  await nth(2).getByLabel("Model").fill(HOSTILE);
  await save.click();
  await logIn(ui);
  await panel.getByText(/value\.1\.url/).waitFor();
  const wrong = async (n: number, label: string) =>
    (await nth(n).getByLabel(label).getAttribute("aria-invalid")) === "true";
  const marks = async () => [
    ...[await wrong(0, "URL"), await wrong(1, "Name"), await wrong(1, "URL")],
    ...[await wrong(1, "Variable with its key"), await wrong(2, "URL")],
  ];
  expect(await marks()).toEqual([false, false, true, true, false]);
  // Others move into its place and are not blamed for it.
  await panel.getByRole("button", { name: "Remove engine e-first" }).click();
  await panel.getByText(/value\.1\.url/).waitFor({ state: "detached" });
  expect(await wrong(1, "URL")).toBe(false);
  await nth(0).getByLabel("URL").fill("http://127.0.0.1:9/v1");
  await nth(0).getByLabel("Variable with its key").fill("E_API_KEY");
  await nth(0).getByLabel("Name").fill("e-third");
  await save.click();
  await panel.getByText("two engines have the same name").waitFor();
  await nth(0).getByLabel("Name").fill("e-mended");
  await save.click();
  await panel.waitFor({ state: "hidden" });
  const mended = { name: "e-mended", url: "http://127.0.0.1:9/v1", model: null };
  const third = {
    name: "e-third",
    url: "http://127.0.0.1:3/v1",
    model: HOSTILE,
    api_key_env: null,
  };
  expect((await read("llm_engines"))?.value).toEqual([
    { ...mended, api_key_env: "E_API_KEY" },
    third,
  ]);
  await page.getByRole("row", { name: /llm_engines/ }).press("Enter");
  await panel.getByRole("button", { name: "Remove engine e-mended" }).click();
  await save.click();
  await panel.waitFor({ state: "hidden" });
  expect((await read("llm_engines"))?.value).toEqual([third]);
  await page.getByRole("row", { name: /llm_engines/ }).press("Enter");
  await panel.getByRole("button", { name: "Reset" }).click();
  await page.getByRole("button", { name: "Go back to it" }).click();
  await panel.waitFor({ state: "hidden" });
  expect((await read("llm_engines"))?.value).toEqual([]);
  await ui.judge(/401|422/);
});

test("numbers, levels and names are stored; an engine that is described here is tested (rules/pipeline-operations#write-a-setting)", async () => {
  await using llm = await startLlmServer({
    script: [{ kind: "answer", text: "e-described", times: 0, plain: true }],
  });
  await using ui = await rig.open("/ui/system/settings?part=pipeline&edit=llm_timeout_s");
  const { page } = ui;
  const edit = async (key: string, act: (panel: Locator) => Promise<unknown>) => {
    const panel = page.getByRole("region", { name: key });
    if (!(await panel.isVisible())) await page.getByRole("row", { name: key }).press("Enter");
    await act(panel);
    await panel.getByRole("button", { name: "Save" }).click();
    return panel;
  };
  const number = await edit("llm_timeout_s", (panel) =>
    panel.getByRole("textbox", { name: "llm_timeout_s" }).fill("900"),
  );
  await logIn(ui);
  await until(
    "the API's word at its field",
    60_000,
    async () => (await number.getByRole("textbox").getAttribute("aria-invalid")) === "true",
  );
  await number.getByRole("textbox").fill("12.5");
  await number.getByRole("button", { name: "Save" }).click();
  await number.waitFor({ state: "hidden" });
  const level = await edit("service_log_level", async (panel) => {
    await panel.getByRole("combobox", { name: "service_log_level" }).click();
    await page.getByRole("option", { name: "debug" }).click();
  });
  await level.waitFor({ state: "hidden" });
  const name = await edit("llm_default_engine", (panel) =>
    panel.getByRole("textbox", { name: "llm_default_engine" }).fill(HOSTILE),
  );
  await name.waitFor({ state: "hidden" });
  const stored = { source: "stored" };
  expect(await read("llm_timeout_s")).toMatchObject({ ...stored, value: 12.5 });
  expect(await read("service_log_level")).toMatchObject({ ...stored, value: "debug" });
  expect(await read("llm_default_engine")).toMatchObject({ ...stored, value: HOSTILE });
  await page.getByRole("row", { name: "llm_default_engine" }).getByText(HOSTILE).waitFor();
  const unset = await edit("llm_default_engine", (panel) => panel.getByRole("textbox").fill(""));
  await unset.waitFor({ state: "hidden" });
  expect(await read("llm_default_engine")).toMatchObject({ value: null, source: "default" });

  await page.getByLabel("URL", { exact: true }).fill(llm.url);
  await page.getByLabel("Model", { exact: true }).fill("e-model");
  await page.getByLabel("Prompt", { exact: true }).fill("say e");
  await page.getByRole("button", { name: "Test", exact: true }).click();
  await page.getByText("e-described").waitFor();
  expect((await llm.received(1)).body).toMatchObject({
    ...{ model: "e-model", messages: [{ role: "user", content: "say e" }] },
  });
  for (const key of ["llm_timeout_s", "service_log_level"]) {
    await page.getByRole("row", { name: key }).press("Enter");
    await page.getByRole("region", { name: key }).getByRole("button", { name: "Reset" }).click();
    await page.getByRole("button", { name: "Go back to it" }).click();
    await page.getByRole("region", { name: key }).waitFor({ state: "hidden" });
    expect((await read(key))?.source).toBe("default");
  }
  expect(ui.complaints(/401|422/)).toEqual([]);
});
