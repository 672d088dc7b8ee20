import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";
import { uiTasks } from "#test/support/rigs/ui-tasks.ts";

/** Code that is written, tested, saved and rolled back in the page, files of tasks, and next times. */

setDefaultTimeout(180_000);

let rig: UiRig;
let tasks: ReturnType<typeof uiTasks>;
beforeAll(async () => {
  rig = await uiRig();
  tasks = uiTasks(rig);
});

const python = (code: string) => ({
  executor_type: "python_module",
  executor_config: { code },
});
const make = (slug: string, code: string, more = {}) =>
  rig.api("POST", "/api/v1/workloads", { slug, ...python(code), ...more });
const open = (slug: string, tab: string, size = {}) =>
  rig.open(`/ui/pipelines/${slug}?tab=${tab}`, size);
/** Writes over what is in the editor. */
async function write(page: Page, code: string) {
  const editor = page.getByRole("textbox", { name: "Code", exact: true });
  await editor.click();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(code);
}

test("a workload is written, tested with one task, and created in one dialog (rules/pipeline-code#in-the-web-app)", async () => {
  await using ui = await rig.open("/ui/pipelines?create=python_module");
  const { page } = ui;
  const dialog = page.getByRole("dialog", { name: "Create a workload" });
  await dialog.getByRole("textbox", { name: "Slug" }).fill("h-written");
  await dialog.getByRole("textbox", { name: "Code", exact: true }).waitFor();
  // The example runs as it stands.
  await dialog.getByRole("textbox", { name: "Its extra" }).fill('{"name": "Ada"}');
  await dialog.getByRole("button", { name: "Test", exact: true }).click();
  await dialog.getByText("The task succeeded").waitFor();
  await dialog.getByText("Hello, Ada!").waitFor();
  await dialog.getByText("greeting Ada").waitFor();
  await ui.judge();
  await write(page, "def run(pk):\n    raise ValueError('not today')\n");
  await dialog.getByRole("button", { name: "Test", exact: true }).click();
  await dialog.getByText("The task failed").waitFor();
  await dialog.getByText('main.py", line 2').waitFor();
  await dialog.getByText("TypeScript", { exact: true }).click();
  await dialog.getByText("export async function run").waitFor();
  await dialog.getByRole("button", { name: "Create the workload" }).click();
  await page.waitForURL("**/ui/pipelines/h-written?tab=submit");
  expect(await rig.api<object>("GET", tasks.at("h-written"))).toMatchObject({
    executor_type: "bun_module",
    executor_config: { code_version: 1 },
  });
});

test("code is changed, saved as a version with a note, compared, and rolled back (rules/pipeline-code#in-the-web-app)", async () => {
  await make("h-changed", "def run(pk):\n    return 'one'\n");
  await using ui = await open("h-changed", "code");
  const { page } = ui;
  await page.getByText("return 'one'").waitFor();
  await write(page, "def run(pk):\n    return 'two'\n");
  await page.getByRole("textbox", { name: "What you changed" }).fill("says two");
  await page.getByRole("button", { name: "Save as a new version" }).click();
  await page.getByText("Version 2 was saved").waitFor();
  await ui.judge();
  await page.getByRole("tab", { name: "Versions" }).click();
  const list = page.getByRole("group", { name: "Versions" });
  await list.getByText("says two").waitFor();
  await list.getByRole("button", { name: /Version 1/ }).click();
  const changes = page.locator(".diff");
  await changes.locator('[data-kind="gone"]').getByText("return 'two'").waitFor();
  await changes.locator('[data-kind="added"]').getByText("return 'one'").waitFor();
  await ui.judge();
  await page.getByRole("button", { name: "Roll back to version 1" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Roll back", exact: true }).click();
  await list.getByText("as version 1").waitFor();
  expect(await rig.api<object>("GET", `${tasks.at("h-changed")}/versions/3`)).toMatchObject({
    restored_from: 1,
    code: "def run(pk):\n    return 'one'\n",
  });
});

test("what somebody else saves meanwhile is neither lost nor overwritten unseen", async () => {
  await make("h-shared", "def run(pk):\n    return 'first'\n");
  await using ui = await open("h-shared", "code");
  const { page } = ui;
  await page.getByText("return 'first'").waitFor();
  await write(page, "def run(pk):\n    return 'mine'\n");
  await rig.api("PUT", tasks.at("h-shared"), {
    name: "h-shared",
    ...python("def run(pk):\n    return 'theirs'\n"),
  });
  await page.getByText("Somebody saved other code in the meantime").waitFor();
  await page.getByText("return 'mine'").waitFor();
  await page.getByRole("button", { name: "Show their code" }).click();
  await page.getByText("return 'theirs'").waitFor();
});

test("code that does not load is a red banner with its traceback, and one button brings the old code back (rules/pipeline-code#in-the-web-app)", async () => {
  await make("h-broken", "def run(pk):\n    return 1\n");
  await rig.api("PUT", tasks.at("h-broken"), {
    name: "h-broken",
    ...python("import not_there_at_all\n"),
  });
  await using ui = await open("h-broken", "runs");
  const { page } = ui;
  await page.getByText("Broken", { exact: true }).waitFor();
  await page.getByText("Traceback (most recent call last)").waitFor();
  await page.getByText("No module named 'not_there_at_all'").first().waitFor();
  await ui.judge();
  await page.getByRole("button", { name: "Roll back to version 1" }).click();
  await page.getByText("Broken", { exact: true }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Test the code" }).click();
  const dialog = page.getByRole("dialog", { name: "Test h-broken" });
  await dialog.getByRole("button", { name: "Run the test" }).click();
  await dialog.getByText("The task succeeded").waitFor();
});

test("a file of tasks is shown, judged and submitted (rules/pipeline-import#in-the-web-app)", async () => {
  await make("h-import", "def run(pk):\n    return 1\n", { enabled: false });
  const good = join(rig.data_dir, "h-good.csv");
  await writeFile(good, "id,url\na,https://a.example\nb,https://b.example\nb,twice\n");
  const bad = join(rig.data_dir, "h-bad.csv");
  await writeFile(bad, "id,url\nc\nd,https://d.example\n");
  await using ui = await open("h-import", "submit", { width: 390, height: 844 });
  const { page } = ui;
  const file = page.locator('input[type="file"]');
  await file.setInputFiles(good);
  const preview = page.getByRole("table", { name: "First tasks" });
  await preview.getByText("https://b.example").waitFor();
  await page.getByText("1 duplicates, whose keys are in the queue").waitFor();
  await ui.judge();
  await page.getByRole("button", { name: "Submit 2 tasks" }).click();
  await page.getByText("2 submitted").waitFor();
  await file.setInputFiles(bad);
  await page.getByText("line 2: has 1 cells, but the header has 2").waitFor();
  await page.getByText("Leave faulty lines out").click();
  await page.getByRole("button", { name: "Submit 1 task", exact: true }).click();
  await page.getByText("1 submitted").waitFor();
  expect(await tasks.counts("h-import")).toMatchObject({ pending: 3 });
});

test("a schedule shows its words and its next five times while it is written (rules/pipeline-schedules#next-times)", async () => {
  await tasks.make("h-daily", "true", { enabled: false });
  await using ui = await open("h-daily", "schedule");
  const { page } = ui;
  await page.getByRole("textbox", { name: "Schedule" }).fill("30 9 * * 1-5");
  await page.getByRole("textbox", { name: "Time zone" }).fill("Europe/Berlin");
  await page.getByText("At 09:30, Monday through Friday, by the clock of Europe/Berlin").waitFor();
  expect(await page.getByRole("table", { name: "Next times" }).getByRole("row").count()).toBe(6);
  await ui.judge();
  await page.getByRole("button", { name: "Save the schedule" }).click();
  await page.getByText("The schedule was saved").waitFor();
  await page.getByRole("textbox", { name: "Schedule" }).fill("61 * * * *");
  await page
    .getByRole("alert")
    .getByText(/61|minute/i)
    .waitFor();
  await ui.judge(/422/);
  expect(await rig.api<object>("GET", tasks.at("h-daily"))).toMatchObject({
    schedule: "30 9 * * 1-5",
    schedule_tz: "Europe/Berlin",
  });
});
