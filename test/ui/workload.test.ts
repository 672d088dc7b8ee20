import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";
import { HOSTILE, uiTasks } from "#test/support/rigs/ui-tasks.ts";

/** One workload with its queue, its settings and what can be done with both (rules/pipeline-workloads#fields-of-a-workload). */

setDefaultTimeout(180_000);

interface Settings {
  enabled: boolean;
  supervisor_enabled: boolean;
  description: string;
  priority: number;
}
let rig: UiRig;
let tasks: ReturnType<typeof uiTasks>;
beforeAll(async () => {
  rig = await uiRig();
  tasks = uiTasks(rig);
  // The supervisor looks every 10 s: it finds them while other tests run.
  await tasks.make("f-one-paused", `printf '%s' '${HOSTILE}' >&2; exit 1`, {
    supervisor_enabled: true,
  });
  await tasks.submit("f-one-paused", ...Array.from({ length: 20 }, (_, i) => `p${i}`));
});
const settings = (slug: string) => rig.api<Settings>("GET", tasks.at(slug));
const open = (slug: string, tab: string, size = {}) =>
  rig.open(`/ui/pipelines/${slug}?tab=${tab}`, size);

test("tasks are submitted by key and as JSON; duplicates and mistakes are told (rules/pipeline-tasks#submit-a-batch)", async () => {
  await tasks.make("f-one-submit", "cat", { enabled: false });
  await using ui = await open("f-one-submit", "submit");
  const box = ui.page.getByLabel("Tasks", { exact: true });
  const send = ui.page.getByRole("button", { name: "Submit", exact: true });
  await box.fill('plain\n{"pk": }');
  await send.click();
  await ui.page.getByText("line 2 is not JSON").waitFor();
  await box.fill('plain\nplain\n{"pk": "json", "extra": {"n": 2}, "priority": 9}');
  await ui.page.getByLabel("Extra data for every task").fill('{"n": 1}');
  await ui.page.getByLabel("Priority").fill("3");
  await send.click();
  await ui.page.getByText("2 submitted").waitFor();
  await ui.page.getByText("1 duplicates").waitFor();
  const { rows } = await rig.api<{ rows: object[] }>(
    "GET",
    `${tasks.at("f-one-submit")}/queue/peek`,
  );
  expect(rows).toMatchObject([
    { pk: "plain", extra: { n: 1 }, priority: 3 },
    { pk: "json", extra: { n: 2 }, priority: 9 },
  ]);
  await box.fill('{"pk": "x", "nonsense": 1}');
  await send.click();
  await ui.page
    .getByText(/nonsense/)
    .last()
    .waitFor();
  await ui.page.getByLabel("Not before").fill("2099-01-01T00:00");
  await box.fill("later");
  await send.click();
  await ui.page.getByText("1 submitted").waitFor();
  await ui.page.getByRole("button", { name: "Fill in an example" }).click();
  expect(await box.inputValue()).not.toBe("");
  await ui.page.getByRole("tab", { name: "Delayed" }).click();
  await ui.page.getByRole("table", { name: "Tasks: delayed" }).getByText("later").waitFor();
  await ui.judge(/422/);
});

test("failed tasks are reset together, retried by selection, and deleted (rules/pipeline-queue#retry-all-failed-tasks)", async () => {
  await tasks.make("f-one-failed", `printf '%s' '${HOSTILE}' >&2; exit 1`);
  await tasks.submit("f-one-failed", "a", "b", HOSTILE);
  await tasks.settled("f-one-failed", { failed: 3 });
  await using ui = await open("f-one-failed", "failed");
  const table = ui.page.getByRole("table", { name: "Tasks: failed" });
  await table.getByText(HOSTILE).first().waitFor();
  await ui.judge();
  const runs = async () => (await tasks.runs("f-one-failed")).length;
  const again = (n: number) =>
    until(
      `${n} runs`,
      60_000,
      async () => (await runs()) === n && (await tasks.counts("f-one-failed")).failed === 3,
    );
  const dialog = ui.page.getByRole("dialog");
  await ui.page.getByRole("button", { name: "Retry all failed…" }).click();
  await dialog.getByText("This is for 3 tasks.").waitFor();
  await ui.judge();
  await dialog.getByRole("button", { name: "No, go back" }).click();
  await dialog.waitFor({ state: "detached" });
  expect([await runs(), (await tasks.counts("f-one-failed")).failed]).toEqual([3, 3]);
  await ui.page.getByRole("button", { name: "Retry all failed…" }).click();
  await dialog.getByRole("button", { name: "Retry 3 tasks" }).click();
  await ui.page.getByText("3 tasks retried").waitFor();
  await again(6);
  await ui.page.reload();
  await table.getByRole("checkbox", { name: "Select b" }).check();
  await ui.page.getByRole("button", { name: "Retry 1 selected" }).click();
  await again(7);
  await ui.page.reload();
  await table.getByRole("checkbox", { name: "Select every row" }).check();
  await ui.page.getByRole("button", { name: "Delete 3 selected" }).click();
  await ui.page.getByRole("dialog").getByRole("button", { name: "Delete 3 selected" }).click();
  await ui.page.getByRole("heading", { name: "No task has failed" }).waitFor();
  expect((await tasks.counts("f-one-failed")).total).toBe(0);
});

test("the switches, and every setting with what is wrong at its field (rules/pipeline-workloads#switch-a-workload-on-or-off)", async () => {
  await tasks.make("f-one-config", "true");
  await using ui = await open("f-one-config", "settings");
  const { page } = ui;
  await page.getByRole("switch", { name: "Enabled" }).first().click();
  await until("off", 60_000, async () => !(await settings("f-one-config")).enabled);
  await page.getByRole("switch", { name: "Supervised" }).first().click();
  await until(
    "supervised",
    60_000,
    async () => (await settings("f-one-config")).supervisor_enabled,
  );
  // Once the page has read what the switches made, it is not told as somebody else's change.
  const supervised = page.getByRole("switch", { name: "Supervised", checked: true }).first();
  await supervised.and(page.locator(":enabled")).waitFor();
  await page.getByRole("textbox", { name: "Description" }).fill(HOSTILE);
  await page.getByRole("textbox", { name: "Priority" }).fill("high");
  await page.getByRole("textbox", { name: "Schedule" }).fill("every day");
  const save = page.getByRole("button", { name: "Save", exact: true });
  await save.click();
  await page.getByText("must be a whole number").waitFor();
  await page.getByRole("textbox", { name: "Priority" }).fill("5");
  await save.click();
  const schedule = page.getByRole("textbox", { name: "Schedule" });
  await until(
    "the API's word at its field",
    60_000,
    async () => (await schedule.getAttribute("aria-invalid")) === "true",
  );
  await ui.judge(/422/);
  await schedule.fill("");
  await save.click();
  await page.getByText("The settings were saved").waitFor();
  expect(await settings("f-one-config")).toMatchObject({
    ...{ description: HOSTILE, priority: 5, enabled: false, supervisor_enabled: true },
  });
  await page.getByRole("textbox", { name: "Priority" }).fill("6");
  await page.getByRole("button", { name: "Undo changes" }).click();
  expect(await page.getByRole("textbox", { name: "Priority" }).inputValue()).toBe("5");
});

test("a switch stays where it was put while the page reads the workload again (rules/web-app#pages-follow-changes)", async () => {
  await tasks.make("f-one-switch", "true");
  await using ui = await open("f-one-switch", "settings");
  const { page } = ui;
  const enabled = { name: "Enabled", disabled: false };
  await page
    .getByRole("switch", { ...enabled, checked: true })
    .first()
    .waitFor();
  const go = Promise.withResolvers<void>();
  await page.route("**/api/v1/workloads/f-one-switch", async (route) => {
    await go.promise;
    await route.continue().catch(() => {});
  });
  await page.getByRole("switch", enabled).first().click();
  await page
    .getByRole("switch", { ...enabled, checked: false })
    .first()
    .waitFor();
  go.resolve();
  await ui.judge();
});

test("running tasks are cancelled by selection; a workload with claimed ones is deleted when forced (rules/pipeline-tasks#remove-or-cancel-a-task)", async () => {
  await tasks.make("f-one-slow", "while :; do sleep 0.2; done");
  await tasks.submit("f-one-slow", "s1", "s2");
  await tasks.settled("f-one-slow", { claimed: 2 });
  await using ui = await open("f-one-slow", "claimed", { width: 1024, height: 768 });
  const { page } = ui;
  await page.getByRole("checkbox", { name: "Select s1" }).check();
  await page.getByRole("button", { name: "Cancel 1 selected" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel 1 selected" }).click();
  await tasks.settled("f-one-slow", { claimed: 1 });
  await ui.judge();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("button", { name: "Delete the workload" }).click();
  await page.getByRole("button", { name: "Delete anyway" }).click();
  await page.waitForURL("**/ui/pipelines");
  const { workloads } = await rig.api<{ workloads: { slug: string }[] }>(
    "GET",
    "/api/v1/workloads",
  );
  expect(workloads.some(({ slug }) => slug === "f-one-slow")).toBe(false);
});

test("counts, charts and the runs of one task (rules/pipeline-queue#queue-counts)", async () => {
  await tasks.make("f-one-runs", "cat");
  await tasks.submit("f-one-runs", "r1", "r2");
  await tasks.settled("f-one-runs", { pending: 0, claimed: 0 });
  await using ui = await open("f-one-runs", "runs", { width: 390, height: 844 });
  const { page } = ui;
  await page.getByRole("img", { name: "Durations of the last 2 runs" }).waitFor();
  await page.getByText("24 h", { exact: true }).click();
  await page.getByRole("img", { name: "over the last 1440 minutes" }).waitFor();
  const rows = page.getByRole("table", { name: "Runs of f-one-runs" }).locator(".row.body");
  await rows.nth(1).waitFor();
  await page.getByRole("textbox", { name: "Task" }).fill("r1");
  await rows.nth(1).waitFor({ state: "detached" });
  await ui.judge();
  await page.getByRole("combobox", { name: "Outcome" }).click();
  await page.getByRole("option", { name: "failed" }).click();
  await page.getByRole("heading", { name: "No run matches" }).waitFor();
  await page.getByRole("combobox", { name: "Outcome" }).click();
  await page.getByRole("option", { name: "succeeded" }).click();
  await page.waitForURL("**success=true**");
  await rows.first().click();
  await page.getByRole("dialog", { name: "r1" }).getByText("Attempt 1").waitFor();
});

test("a task is deleted while it waits, and pages of the queue are gone through (rules/pipeline-queue#peek-at-the-queue)", async () => {
  await tasks.make("f-one-waits", "true", { enabled: false });
  const pks = Array.from({ length: 52 }, (_, i) => `w${i + 100}`);
  await tasks.submit("f-one-waits", ...pks);
  await using ui = await open("f-one-waits", "ready");
  const { page } = ui;
  await page.getByText("Tasks 1 to 50, oldest first").waitFor();
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByText("Tasks 51 to 52, oldest first").waitFor();
  expect(page.url()).toContain("offset=50");
  await page.getByRole("checkbox", { name: "Select w150" }).check();
  await page.getByRole("checkbox", { name: "Select w151" }).check();
  await page.getByRole("button", { name: "Delete 2 selected" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete 2 selected" }).click();
  await tasks.settled("f-one-waits", { pending: 50 });
  await page.getByRole("button", { name: "Before" }).click();
  await page
    .getByText(/Tasks 1 to 50|w100/)
    .first()
    .waitFor();
  expect(page.url()).not.toContain("offset");
  // Nothing of it is claimed: it is deleted without being forced.
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("button", { name: "Delete the workload" }).click();
  await page.waitForURL("**/ui/pipelines");
  expect(await rig.api("GET", tasks.at("f-one-waits")).catch(String)).toContain("404");
  expect(ui.complaints(/404/)).toEqual([]);
});

test("settings that were changed elsewhere meanwhile are told and shown (rules/pipeline-workloads#conditional-edits)", async () => {
  await tasks.make("f-one-meanwhile", "true");
  await using ui = await open("f-one-meanwhile", "settings");
  const { page } = ui;
  await page.getByRole("textbox", { name: "Priority" }).fill("6");
  const now = await rig.api<Settings>("GET", tasks.at("f-one-meanwhile"));
  await rig.api("PATCH", `${tasks.at("f-one-meanwhile")}/enabled`, { enabled: !now.enabled });
  await page.getByText("It has been changed elsewhere in the meantime").waitFor();
  expect(await page.getByRole("textbox", { name: "Priority" }).inputValue()).toBe("6");
  const refused = page.waitForResponse((answer) => answer.request().method() === "PUT");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  expect((await refused).status()).toBe(412);
  await page.getByRole("button", { name: "Show the current settings" }).click();
  expect(await page.getByRole("textbox", { name: "Priority" }).inputValue()).toBe("0");
  // Nobody's change is lost unless somebody says so.
  await page.getByRole("textbox", { name: "Priority" }).fill("7");
  await rig.api("PATCH", `${tasks.at("f-one-meanwhile")}/enabled`, { enabled: now.enabled });
  await page.getByRole("button", { name: "Keep my settings" }).click();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("The settings were saved").waitFor();
  expect(await rig.api<Settings>("GET", tasks.at("f-one-meanwhile"))).toMatchObject({
    priority: 7,
  });
  expect(ui.complaints(/412/)).toEqual([]);
});

test("a workload that the supervisor paused says why, and runs again when it is switched on (rules/pipeline-supervision#pause)", async () => {
  await using ui = await open("f-one-paused", "failed");
  const { page } = ui;
  const note = page.getByRole("status").filter({ hasText: "Paused by the supervisor" });
  await note.getByText(/the last 20 runs failed; the last one: .*exited with code 1/).waitFor();
  await note.getByText("It stays paused until you switch it on.").waitFor();
  expect(await settings("f-one-paused")).toMatchObject({ enabled: false });
  await ui.judge();
  await page.getByRole("switch", { name: "Enabled" }).click();
  await until("on", 60_000, async () => (await settings("f-one-paused")).enabled);
  await note.waitFor({ state: "detached" });
  await page.getByText("The supervisor stepped in").waitFor();
  const at = `${tasks.at("f-one-paused")}/supervisor`;
  expect(await rig.api<object>("GET", at)).toMatchObject({ paused_at: null, action: "pause" });
  await page.getByRole("button", { name: "Retry all failed…" }).click();
  await page
    .getByRole("dialog")
    .getByRole("button", { name: /^Retry \d+ tasks$/ })
    .click();
  await until("more runs", 60_000, async () => (await tasks.runs("f-one-paused")).length > 20);
  expect(ui.complaints()).toEqual([]);
});
