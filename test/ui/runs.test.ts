import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";
import { HOSTILE, uiTasks } from "#test/support/rigs/ui-tasks.ts";

/** Runs, and the drawer with everything that is kept of one (rules/pipeline-runs#fields-of-a-run). */

setDefaultTimeout(180_000);

let rig: UiRig;
let tasks: ReturnType<typeof uiTasks>;
beforeAll(async () => {
  rig = await uiRig();
  tasks = uiTasks(rig);
  const output = JSON.stringify({ list: [1, { deep: HOSTILE }], fine: true });
  await tasks.make("f-runs-good", `printf '%s' '${output}'`);
  await tasks.make("f-runs-bad", "echo some line; echo a warning >&2; exit 7");
  await tasks.make("f-runs-slow", "echo first line; while :; do sleep 0.2; done");
  await tasks.submit("f-runs-good", "good/1");
  await tasks.submit("f-runs-bad", "bad-1", "bad-2");
  await tasks.settled("f-runs-good", { pending: 0, claimed: 0 });
  await tasks.settled("f-runs-bad", { failed: 2 });
});

test("runs are filtered by workload and outcome, in the address (rules/pipeline-runs#search-runs)", async () => {
  await using ui = await rig.open("/ui/pipelines/runs?workload=f-runs-bad");
  const rows = ui.page.getByRole("table", { name: "Runs" }).locator(".row.body");
  await rows.filter({ hasText: "bad-2" }).waitFor();
  expect(await rows.count()).toBe(2);
  await ui.page.getByRole("combobox", { name: "Outcome" }).click();
  await ui.page.getByRole("option", { name: "success" }).click();
  await ui.page.getByRole("heading", { name: "No run matches" }).waitFor();
  await ui.page.waitForURL("**outcome=success**");
  await ui.page.getByRole("button", { name: "Show all" }).click();
  await rows.filter({ hasText: "good/1" }).first().waitFor();
  await ui.page.getByRole("textbox", { name: "Worker" }).fill("nobody");
  await ui.page.waitForURL("**worker=nobody**");
  await ui.page.getByRole("heading", { name: "No run matches" }).waitFor();
  await ui.judge();
});

test("runs are narrowed by when they ended; the address keeps it through a reload (rules/pipeline-runs#search-runs)", async () => {
  await using ui = await rig.open("/ui/pipelines/runs?workload=f-runs-bad");
  const { page } = ui;
  const rows = page.getByRole("table", { name: "Runs" }).locator(".row.body");
  const none = page.getByRole("heading", { name: "No run matches" });
  const since = page.getByLabel("Ended since");
  const before = page.getByLabel("and before");
  const now = Date.now();
  const day = (days: number) => new Date(now + days * 86_400_000).toISOString().slice(0, 10);
  await rows.nth(1).waitFor();
  await since.fill(`${day(2)}T10:30`);
  await none.waitFor();
  const moment = /^\d{4}-\d\d-\d\dT\d\d:\d\d:00\.000Z$/;
  expect(new URL(page.url()).searchParams.get("since")).toMatch(moment);
  await since.fill(`${day(-2)}T10:30`);
  await rows.nth(1).waitFor();
  await before.fill(`${day(-1)}T10:30`);
  await none.waitFor();
  expect(new URL(page.url()).searchParams.get("until")).toMatch(moment);
  await page.reload();
  await none.waitFor();
  expect([await since.inputValue(), await before.inputValue()]).toEqual([
    `${day(-2)}T10:30`,
    `${day(-1)}T10:30`,
  ]);
  await before.fill("");
  await rows.nth(1).waitFor();
  await page.getByRole("button", { name: "Show all" }).click();
  expect(await since.inputValue()).toBe("");
  expect(new URL(page.url()).search).toBe("");
  expect(ui.complaints()).toEqual([]);
});

test("a task that waits is deleted beside the list (rules/pipeline-tasks#remove-or-cancel-a-task)", async () => {
  await tasks.make("f-runs-waits", "true", { enabled: false });
  await tasks.submit("f-runs-waits", "w1", "w2");
  await using ui = await rig.open("/ui/pipelines/runs?task=f-runs-waits/w1");
  const drawer = ui.page.getByRole("region", { name: "w1" });
  // In the line of the attempt ahead, and as its state.
  await drawer.getByText("Ready", { exact: true }).nth(1).waitFor();
  await drawer.getByRole("button", { name: "Delete" }).click();
  await ui.page.getByRole("button", { name: "Delete the task" }).click();
  await tasks.settled("f-runs-waits", { pending: 1 });
  expect(ui.complaints(/404/)).toEqual([]);
});

test("a link opens a run with its output as a tree, and hostile values are text (rules/pipeline-runs#read-a-run)", async () => {
  const [run] = await tasks.runs("f-runs-good");
  await using ui = await rig.open(`/ui/pipelines/runs?run=${run?.run_id}`);
  const drawer = ui.page.getByRole("region", { name: "good/1" });
  const tree = drawer.getByRole("group", { name: "Output" });
  await tree.getByText("list:").click();
  await tree.getByText("deep:").waitFor({ state: "detached" });
  await tree.getByText("list:").click();
  await tree.getByText("2 items").waitFor();
  await drawer.getByText("Attempt 1").waitFor();
  await ui.judge();
  await drawer.getByRole("link", { name: "Submit again…" }).click();
  await ui.page.waitForURL("**/ui/pipelines/f-runs-good?tab=submit&pk=good%2F1");
  expect(await ui.page.getByLabel("Tasks", { exact: true }).inputValue()).toBe("good/1");
});

test("a failed task is tried again or deleted from its run (rules/pipeline-tasks#retry-one-failed-task)", async () => {
  const run = (await tasks.runs("f-runs-bad")).find(({ pk }) => pk === "bad-1");
  await using ui = await rig.open(`/ui/pipelines/runs?run=${run?.run_id}`);
  const drawer = ui.page.getByRole("region", { name: "bad-1" });
  await drawer.getByRole("log", { name: "stdout" }).getByText("some line").waitFor();
  await drawer.getByRole("log", { name: "stderr" }).getByText("a warning").waitFor();
  await drawer.getByRole("button", { name: "Retry" }).click();
  await until("a second run", 60_000, async () => {
    const all = await tasks.runs("f-runs-bad");
    return all.filter(({ pk }) => pk === "bad-1").length === 2;
  });
  const attempts = drawer.getByRole("list", { name: "Attempts" }).getByRole("listitem");
  await attempts.nth(1).waitFor();
  await drawer.getByRole("heading", { name: "Round 2, after a retry" }).waitFor();
  await drawer.getByRole("button", { name: "Delete" }).click();
  await ui.page.getByRole("button", { name: "Delete the task" }).click();
  await tasks.settled("f-runs-bad", { failed: 1 });
  await ui.judge();
});

test("what a running task prints is shown as it comes, and cancelling ends it (rules/pipeline-pull#live-output)", async () => {
  await tasks.submit("f-runs-slow", "slow-1");
  await tasks.settled("f-runs-slow", { claimed: 1 });
  await using ui = await rig.open("/ui/pipelines/runs?task=f-runs-slow/slow-1");
  const drawer = ui.page.getByRole("region", { name: "slow-1" });
  await drawer.getByRole("log", { name: "stdout" }).getByText("first line").waitFor();
  await drawer.getByRole("button", { name: "Cancel" }).click();
  await ui.page.getByRole("button", { name: "Cancel the task" }).click();
  await tasks.settled("f-runs-slow", { claimed: 0, pending: 0, failed: 0 });
  await drawer.getByRole("list", { name: "Attempts" }).getByText("cancelled").waitFor();
  await ui.judge();
});
