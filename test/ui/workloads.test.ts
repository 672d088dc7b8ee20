import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";
import { HOSTILE, uiTasks } from "#test/support/rigs/ui-tasks.ts";

/** Workloads are listed and created (rules/pipeline-workloads#create-a-workload). */

setDefaultTimeout(180_000);

let rig: UiRig;
let tasks: ReturnType<typeof uiTasks>;
beforeAll(async () => {
  rig = await uiRig();
  tasks = uiTasks(rig);
  await tasks.make("f-list-one", "true", { name: HOSTILE });
  await tasks.make("f-list-two", "true", { enabled: false });
});

test("workloads are listed, filtered in the address, and a name is text (rules/pipeline-workloads#read-and-list-workloads)", async () => {
  await using ui = await rig.open("/ui/pipelines");
  const rows = ui.page.getByRole("table", { name: "Workloads" }).locator(".row.body");
  await rows.filter({ hasText: "f-list-one" }).getByText(HOSTILE).waitFor();
  await ui.page.keyboard.press("/");
  await ui.page.keyboard.type("f-list");
  await ui.page.waitForURL("**?q=f-list");
  await rows.nth(1).waitFor();
  expect(await rows.count()).toBe(2);
  await ui.page.getByRole("combobox", { name: "State" }).click();
  await ui.page.getByRole("option", { name: "off" }).click();
  await ui.page.waitForURL("**state=off**");
  await rows.filter({ hasText: "f-list-one" }).waitFor({ state: "detached" });
  await ui.judge();
  await rows.first().press("Enter");
  const detail = ui.page.getByRole("region", { name: "f-list-two" });
  await detail.getByRole("link", { name: "Open workload" }).click();
  await ui.page.waitForURL("**/ui/pipelines/f-list-two");
});

test("a workload is made from an example; what is wrong is said at its field (rules/pipeline-workloads#create-a-workload)", async () => {
  await using ui = await rig.open("/ui/pipelines");
  const { page } = ui;
  await page.getByRole("button", { name: "Create a workload" }).click();
  const dialog = page.getByRole("dialog", { name: "Create a workload" });
  const slug = dialog.getByRole("textbox", { name: "Slug" });
  await slug.fill("No Good");
  await dialog.getByRole("button", { name: "Create the workload" }).click();
  await dialog.getByText("beginning with a letter or digit").waitFor();
  await slug.fill("f-list-one");
  await dialog.getByRole("button", { name: "Create the workload" }).click();
  await dialog.getByText("workload f-list-one exists").waitFor();
  await ui.judge(/409/);
  for (const type of ["Use a plugin", "Program or browser", "Browser jobs", "A program"])
    await dialog.getByText(type, { exact: true }).first().click();
  await slug.fill("f-made");
  await dialog.getByRole("button", { name: "Every other setting" }).click();
  await dialog.getByRole("textbox", { name: "Attempts" }).fill("0");
  await dialog.getByRole("button", { name: "Create the workload" }).click();
  await dialog.getByText("must be at least 1, not 0").waitFor();
  await dialog.getByRole("textbox", { name: "Attempts" }).fill("7");
  await dialog.getByRole("button", { name: "Create the workload" }).click();
  await page.waitForURL("**/ui/pipelines/f-made?tab=submit");
  expect(await rig.api<object>("GET", tasks.at("f-made"))).toMatchObject({
    ...{ name: "f-made", executor_type: "command", max_attempts: 7, rate_limit: null },
  });
});

test("every example of the dialog is one that the API takes (rules/pipeline-workloads#create-a-workload)", async () => {
  for (const type of ["python_module", "bun_module", "fleet_fetch"]) {
    await using ui = await rig.open(`/ui/pipelines?create=${type}`, { width: 390, height: 844 });
    const dialog = ui.page.getByRole("dialog", { name: "Create a workload" });
    const slug = `f-made-${type.replace("_", "-")}`;
    await dialog.getByRole("textbox", { name: "Slug" }).fill(slug);
    await dialog.getByRole("button", { name: "Create the workload" }).click();
    await ui.page.waitForURL(`**/ui/pipelines/${slug}?tab=submit`);
    expect(await rig.api<object>("GET", tasks.at(slug))).toMatchObject({ executor_type: type });
    await rig.api("DELETE", tasks.at(slug));
  }
});
