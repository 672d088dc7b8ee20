import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Job } from "#shared/protocol/schema/job.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";
import { uiTasks } from "#test/support/rigs/ui-tasks.ts";

/** Labels where people see them: of captures, tasks and runs (rules/labels#in-the-web-app). */

setDefaultTimeout(180_000);

let rig: UiRig;
let tasks: ReturnType<typeof uiTasks>;
beforeAll(async () => {
  rig = await uiRig();
  tasks = uiTasks(rig);
  await tasks.make("f-labels", "exit 3");
  await rig.api("POST", `${tasks.at("f-labels")}/tasks/batch`, {
    items: [
      { pk: "ours", labels: { team: "growth", ticket: "OPS-41" } },
      { pk: "theirs", labels: { team: "sales" } },
    ],
  });
  await tasks.settled("f-labels", { failed: 2 });
});

test("a new capture gets the labels that were written, shows them, and leads to what else has them", async () => {
  await using ui = await rig.open(`/ui/captures/new?url=${rig.site}/page&idle_seconds=0`);
  const { page } = ui;
  const labels = page.getByRole("combobox", { name: "Labels" });
  const submit = page.getByRole("button", { name: "Submit the job" });
  await labels.fill("no label");
  await labels.press("Enter");
  await submit.click();
  await page.getByText("“no label” is not a label: write key:value").waitFor();
  await ui.judge();
  await labels.press("Backspace");
  await labels.fill("team:f-labels, of many");
  await labels.press("Enter");
  await submit.click();
  await page.waitForURL(/\/ui\/captures\/(?!new)[^/?]+(\?|$)/);
  const job_id = new URL(page.url()).pathname.split("/").at(-1) ?? "";
  const job = await rig.api<Job>("GET", `/jobs/${job_id}`);
  expect(job.labels).toEqual({ team: "f-labels, of many" });
  await page.goto(`${rig.url}/ui/captures/${job_id}?tab=details`);
  await page.getByRole("link", { name: "team:f-labels, of many" }).click();
  await page.waitForURL("**/ui/captures?label=team*");
  const rows = page.getByRole("table", { name: "Jobs" }).locator(".row.body");
  await rows.first().waitFor();
  expect(await rows.count()).toBe(1);
  await page.goto(`${rig.url}/ui/captures/new?from=${job_id}`);
  await page.getByText("team:f-labels, of many", { exact: true }).waitFor();
  await rig.api("DELETE", `/jobs/${job_id}`);
});

test("runs are filtered by a label, of all workloads and of one; a run shows those of its task", async () => {
  await using ui = await rig.open("/ui/pipelines/runs?workload=f-labels");
  const { page } = ui;
  const rows = page.getByRole("table", { name: /^Runs/ }).locator(".row.body");
  await rows.nth(1).waitFor();
  await page.getByRole("textbox", { name: "Label" }).fill("team:growth");
  await page.waitForURL("**label=team%3Agrowth**");
  await rows.filter({ hasText: "theirs" }).waitFor({ state: "detached" });
  expect(await rows.count()).toBe(1);
  await rows.first().click();
  const drawer = page.getByRole("region", { name: "ours" });
  await drawer.getByRole("link", { name: "ticket:OPS-41" }).first().waitFor();
  await ui.judge();

  await page.goto(`${rig.url}/ui/pipelines/f-labels?tab=runs`);
  await rows.nth(1).waitFor();
  await page.getByRole("textbox", { name: "Label" }).fill("team:sales");
  await rows.filter({ hasText: "ours" }).waitFor({ state: "detached" });
  expect(await rows.count()).toBe(1);
});

test("tasks of a queue are filtered by a label, which a task leads to", async () => {
  await using ui = await rig.open("/ui/pipelines/f-labels?tab=failed");
  const { page } = ui;
  const rows = page.getByRole("table", { name: "Tasks: failed" }).locator(".row.body");
  await rows.nth(1).waitFor();
  await rows.filter({ hasText: "theirs" }).click();
  const drawer = page.getByRole("region", { name: "theirs" });
  await drawer.locator("dl[aria-label=Task]").getByRole("link", { name: "team:sales" }).click();
  await page.waitForURL("**/ui/pipelines/f-labels?tab=failed&label=team%3Asales");
  await rows.filter({ hasText: "ours" }).waitFor({ state: "detached" });
  expect(await rows.count()).toBe(1);
  expect(await page.getByRole("button", { name: "Retry all failed…" }).count()).toBe(0);
  await page.getByRole("textbox", { name: "Label" }).fill("team:nobody");
  await page.getByRole("heading", { name: "No task here has this label" }).waitFor();
  await ui.judge();
});
