import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Convention } from "#shared/protocol/schema/convention.ts";
import type { Engine } from "#shared/protocol/schema/engine.ts";
import type { Skill } from "#shared/protocol/schema/skill.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";
import { startLlmServer } from "#test/support/servers/llm-server.ts";

/** Engines, skills and conventions in the admin UI (rules/engines#engine-calls, rules/library#registry-calls). */

setDefaultTimeout(180_000);

const HOSTILE = `"><img src=x onerror=alert(1)><script>alert(1)</script>`;

let rig: UiRig;
beforeAll(async () => {
  rig = await uiRig();
});

test("an engine is tested, stored with every field, promoted, changed and deleted (rules/engines#engine-calls)", async () => {
  await using llm = await startLlmServer({
    script: [{ kind: "answer", text: HOSTILE, times: 0, plain: true }],
  });
  await using ui = await rig.open("/ui/library/engines?create=1");
  const { page } = ui;
  const form = page.getByRole("region", { name: "New engine" });
  await form.getByRole("button", { name: "Save" }).click();
  await form.getByText("is required").first().waitFor();
  await form.locator("input:focus").and(form.getByLabel("Slug")).waitFor();
  await form.getByLabel("Slug").fill("e-engine");
  await form.getByLabel("Name", { exact: true }).fill(HOSTILE);
  await form.getByLabel("Endpoint").fill("ftp://nowhere");
  await form.getByLabel("Model").fill("e-model");
  await form.getByRole("button", { name: "Save" }).click();
  await form.getByText("must be an http or https URL").waitFor();
  await form.getByLabel("Endpoint").fill(llm.url);
  await form.getByRole("button", { name: "Test" }).click();
  await form.getByText("The engine answered").waitFor();
  await form.getByText(HOSTILE).waitFor();
  await form.getByLabel("Kind").click();
  await page.getByRole("option", { name: /^vision-chat/ }).click();
  await form.getByLabel("Timeout").fill("45");
  await form.getByLabel("Variable with its key").fill("E_API_KEY");
  await form.getByLabel("Calls tools").check({ force: true });
  await form.getByLabel("Writes scripts").check({ force: true });
  await form.getByLabel("Notes").fill("of the tests");
  await ui.judge(/422/);
  await form.getByRole("button", { name: "Save" }).click();
  await form.waitFor({ state: "hidden" });
  const { promoted, updated_at: _, ...stored } = await rig.api<Engine>("GET", "/engines/e-engine");
  expect(stored).toEqual({
    ...{ slug: "e-engine", name: HOSTILE, kind: "vision-chat", protocol: "openai" },
    ...{ endpoint: llm.url, model: "e-model", timeout_s: 45, supports_tools: true },
    ...{ use_for_codegen: true, api_key_env: "E_API_KEY", notes: "of the tests" },
  });
  expect(promoted).toBe(false);

  await page.getByLabel("Filter engines").fill("e-engine");
  await page.getByText(HOSTILE).waitFor();
  await page.getByRole("button", { name: "Promote e-engine" }).click();
  await page.getByText("e-engine is now the promoted engine").waitFor();
  expect((await rig.api<Engine>("GET", "/engines/e-engine")).promoted).toBe(true);

  await page.getByRole("row", { name: /e-engine/ }).press("Enter");
  const edit = page.getByRole("region", { name: "e-engine" });
  await edit.getByLabel("Model").fill("e-model-2");
  await edit.getByRole("button", { name: "Save" }).click();
  await edit.waitFor({ state: "hidden" });
  expect((await rig.api<Engine>("GET", "/engines/e-engine")).model).toBe("e-model-2");

  // A link to it opens it; a key goes out for the administrator alone.
  await page.goto(`${rig.url}/ui/library/engines?edit=e-engine`);
  await edit.getByRole("button", { name: "Test" }).click();
  const login = page.getByRole("dialog", { name: "Only the administrator may do this" });
  await login.getByLabel("Administrator's password").fill(rig.admin_password);
  await login.getByRole("button", { name: "Log in" }).click();
  await edit.getByText("The engine did not answer: no_key").waitFor();
  await edit.getByRole("button", { name: /^More for / }).click();
  await page.getByRole("menuitem", { name: /^Delete / }).click();
  await page.getByRole("button", { name: "Delete it" }).click();
  await edit.waitFor({ state: "hidden" });
  const { engines } = await rig.api<{ engines: Engine[] }>("GET", "/engines");
  expect(engines.some(({ slug }) => slug === "e-engine")).toBe(false);
  await ui.judge(/422|401/);
});

test("a skill that a job left behind shows its job as text, and is accepted, changed and deleted (rules/scripts#offers)", async () => {
  await rig.api("PUT", "/skills/e-left", {
    ...{ name: HOSTILE, host_pattern: "*.e.example", code: `// ${HOSTILE}` },
    ...{ tags: ["offered", "e-tag"], created_by: "ai", created_from_job: "e-job" },
  });
  await using ui = await rig.open("/ui/library/skills?host=shop.e.example&tag=e-tag");
  const { page } = ui;
  const row = page.getByRole("row", { name: /e-left/ });
  expect(await row.getByRole("link", { name: "its job" }).getAttribute("href")).toBe(
    "/ui/captures/e-job",
  );
  await page.getByText(HOSTILE, { exact: true }).waitFor();
  await row.getByRole("button", { name: "Accept e-left" }).click();
  await until("accepted", 60_000, async () => {
    const skill = await rig.api<Skill>("GET", "/skills/e-left");
    return skill.tags.join() === "e-tag" && skill.created_by === "ai";
  });
  await row.press("Enter");
  const edit = page.getByRole("region", { name: "e-left" });
  await edit.getByLabel("Code").fill("await page.click('#e');");
  await edit.getByLabel("Description").fill("clicks");
  await ui.judge();
  await edit.getByRole("button", { name: "Save" }).click();
  await edit.waitFor({ state: "hidden" });
  expect(await rig.api<Skill>("GET", "/skills/e-left")).toMatchObject({
    ...{ code: "await page.click('#e');", description: "clicks", name: HOSTILE },
    ...{ created_by: "ai", created_from_job: "e-job", host_pattern: "*.e.example" },
  });
  await page.goto(`${rig.url}/ui/library/skills?create=1`);
  const form = page.getByRole("region", { name: "New skill" });
  await form.getByLabel("Slug").fill("e-left");
  await form.getByText("One with this name already exists").waitFor();
  await form.getByLabel("Slug").fill("e-new");
  await form.getByLabel("Tags").fill("e-tag");
  await form.getByLabel("Tags").press("Enter");
  await form.getByLabel("Code").fill("// new");
  await form.getByRole("button", { name: "Save" }).click();
  await form.waitFor({ state: "hidden" });
  expect((await rig.api<Skill>("GET", "/skills/e-new")).tags).toEqual(["e-tag"]);
  await page.getByLabel("With tag").fill("e-tag");
  await page.getByText("e-new", { exact: true }).click();
  await page.getByRole("button", { name: "More for e-new" }).click();
  await page.getByRole("menuitem", { name: "Delete skill…" }).click();
  await page.getByRole("button", { name: "Delete it" }).click();
  await page.getByText("Skill e-new deleted").waitFor();
  await rig.api("DELETE", "/skills/e-left");
  const { skills } = await rig.api<{ skills: Skill[] }>("GET", "/skills");
  expect(skills.some(({ slug }) => slug.startsWith("e-"))).toBe(false);
  await ui.judge();
});

test("a convention is made, switched off, changed and deleted (rules/library#conventions)", async () => {
  await using ui = await rig.open("/ui/library/conventions", { colors: "dark" });
  const { page } = ui;
  await page.getByRole("button", { name: "New convention" }).first().click();
  const form = page.getByRole("region", { name: "New convention" });
  await form.getByLabel("Slug").fill("e-rule");
  await form.getByLabel("Title").fill(HOSTILE);
  await form.getByRole("textbox", { name: "Text" }).fill("Be kind.");
  await form.getByRole("button", { name: "Save" }).click();
  await form.waitFor({ state: "hidden" });
  await page.getByText(HOSTILE).waitFor();
  await page.getByLabel("e-rule is enabled").click({ force: true });
  await page.getByText("e-rule is off").waitFor();
  const read = () => rig.api<Convention>("GET", "/conventions/e-rule");
  expect(await read()).toMatchObject({ title: HOSTILE, text: "Be kind.", enabled: false });
  await ui.judge();
  await page.getByText(HOSTILE).click();
  const edit = page.getByRole("region", { name: "e-rule" });
  await edit.getByRole("textbox", { name: "Text" }).fill("Be kinder.");
  await edit.getByRole("button", { name: "Save" }).click();
  await edit.waitFor({ state: "hidden" });
  expect(await read()).toMatchObject({ text: "Be kinder.", enabled: false });
  await page.getByText(HOSTILE).click();
  await edit.getByRole("button", { name: /^More for / }).click();
  await page.getByRole("menuitem", { name: /^Delete / }).click();
  await page.getByRole("button", { name: "Delete it" }).click();
  await page.getByText("Convention e-rule deleted").waitFor();
  const { conventions } = await rig.api<{ conventions: Convention[] }>("GET", "/conventions");
  expect(conventions.some(({ slug }) => slug === "e-rule")).toBe(false);
  await ui.judge();
});
