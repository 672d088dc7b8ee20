import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { SavedList } from "#shared/protocol/schema/saved-list.ts";
import { type UiPage, type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";
import { uiTasks } from "#test/support/rigs/ui-tasks.ts";

/** Lists that are kept under a name, on each page that has them (rules/saved-lists#in-the-web-app). */

setDefaultTimeout(180_000);

let rig: UiRig;
let tasks: ReturnType<typeof uiTasks>;
beforeAll(async () => {
  rig = await uiRig();
  tasks = uiTasks(rig);
  await tasks.make("f-saved", "exit 3");
  await tasks.make("f-saved-too", "true");
  await rig.api("POST", `${tasks.at("f-saved")}/tasks/batch`, {
    items: [{ pk: "s1", labels: { team: "emu" } }, { pk: "s2" }],
  });
  await tasks.settled("f-saved", { failed: 2 });
  for (const host of ["emu.example", "other.example"])
    await rig.api("PUT", `/hosts/${host}`, { notes: "f-saved" });
});

const tabsOf = ({ page }: UiPage) => page.getByRole("navigation", { name: "Saved lists" });

async function save(ui: UiPage, name: string): Promise<void> {
  await ui.page.getByRole("button", { name: "Save this list" }).click();
  await ui.page.getByRole("textbox", { name: "Name of the list" }).fill(name);
  await ui.page.keyboard.press("Enter");
  await tabsOf(ui).getByRole("button", { name }).waitFor();
}

const filtersOf = async (on: string, name: string) => {
  const path = `/api/v1/saved-lists?page=${on}`;
  const { saved_lists } = await rig.api<{ saved_lists: SavedList[] }>("GET", path);
  return saved_lists.find((list) => list.name === name)?.filters;
};

test("runs are kept with their filters, and without the page of the list", async () => {
  await using ui = await rig.open(
    "/ui/pipelines/runs?label=team:emu&outcome=failed&page=999999999",
  );
  const { page } = ui;
  await save(ui, "Emu runs");
  expect(await filtersOf("runs", "Emu runs")).toEqual({ label: "team:emu", outcome: "failed" });
  await tabsOf(ui).getByRole("button", { name: "All runs" }).click();
  await page.waitForURL((url) => url.search === "");
  await tabsOf(ui).getByRole("button", { name: "Emu runs" }).click();
  await page.waitForURL("**label=team%3Aemu**");
  expect(new URL(page.url()).searchParams.get("outcome")).toBe("failed");
  const rows = page.getByRole("table", { name: "Runs" }).locator(".row.body");
  await rows.filter({ hasText: "s1" }).waitFor();
  expect(await rows.count()).toBe(1);
  await ui.judge();
});

test("tasks are kept with their workload and their state, and are found from another workload", async () => {
  await using ui = await rig.open("/ui/pipelines/f-saved?tab=failed&label=team:emu");
  const { page } = ui;
  await save(ui, "Emu tasks");
  expect(await filtersOf("tasks", "Emu tasks")).toEqual({
    workload: "f-saved",
    state: "failed",
    label: "team:emu",
  });
  await page.goto(`${rig.url}/ui/pipelines/f-saved-too?tab=ready`);
  await tabsOf(ui).getByRole("button", { name: "Emu tasks" }).click();
  await page.waitForURL("**/ui/pipelines/f-saved?tab=failed&label=team%3Aemu");
  const rows = page.getByRole("table", { name: "Tasks: failed" }).locator(".row.body");
  await rows.filter({ hasText: "s1" }).waitFor();
  expect(await rows.count()).toBe(1);
  await ui.judge();
  await tabsOf(ui).getByRole("button", { name: "Forget this list" }).click();
  await page.getByRole("button", { name: "Forget it" }).click();
  await tabsOf(ui).getByRole("button", { name: "Emu tasks" }).waitFor({ state: "detached" });
});

test("hosts are kept with the number of what the list has now", async () => {
  await using ui = await rig.open("/ui/library/hosts?q=emu");
  const { page } = ui;
  await save(ui, "Emu hosts");
  await tabsOf(ui)
    .getByRole("button", { name: /Emu hosts\s*1$/ })
    .waitFor();
  await rig.api("PUT", "/hosts/other.example", { notes: "near the emu" });
  await tabsOf(ui)
    .getByRole("button", { name: /Emu hosts\s*2$/ })
    .waitFor();
  await tabsOf(ui).getByRole("button", { name: "All hosts" }).click();
  await page.waitForURL((url) => url.search === "");
  await ui.judge();
});

test("open sessions are kept as the wall of browsers is filtered", async () => {
  await using ui = await rig.open("/ui/browsers?state=warm");
  const { page } = ui;
  await save(ui, "Idle lanes");
  expect(await filtersOf("sessions", "Idle lanes")).toEqual({ state: "warm" });
  await tabsOf(ui)
    .getByRole("button", { name: /Idle lanes\s*\d$/ })
    .waitFor();
  await tabsOf(ui).getByRole("button", { name: "Every lane" }).click();
  await page.waitForURL((url) => url.search === "");
  await tabsOf(ui).getByRole("button", { name: "Idle lanes" }).click();
  await page.waitForURL("**state=warm");
  await ui.judge();
});

test("past sessions are filtered, and their lists are kept beside those of open ones", async () => {
  const { session_id } = await rig.api<{ session_id: string }>("POST", "/sessions", {
    url: `${rig.site}/page?emu=past`,
    headless: true,
  });
  await rig.api("DELETE", `/sessions/${session_id}`);
  await using ui = await rig.open("/ui/browsers/past");
  const { page } = ui;
  await page.getByRole("textbox", { name: "Address or title has" }).fill("EMU=past");
  await page.waitForURL("**q=EMU%3Dpast**");
  const rows = page.getByRole("table", { name: "Past sessions" }).locator(".row.body");
  await rows.filter({ hasText: "emu=past" }).waitFor();
  expect(await rows.count()).toBe(1);
  await save(ui, "Emu past");
  expect(await filtersOf("sessions", "Emu past")).toEqual({ status: "ended", q: "EMU=past" });
  await ui.judge();
  await page.goto(`${rig.url}/ui/browsers`);
  await tabsOf(ui).getByRole("button", { name: "Emu past", exact: true }).click();
  await page.waitForURL("**/ui/browsers/past?q=EMU%3Dpast");
  await rows.filter({ hasText: "emu=past" }).waitFor();
  await page.getByRole("textbox", { name: "Worker" }).fill("nobody");
  await page.waitForURL("**worker=nobody**");
  await rows.first().waitFor({ state: "detached" });
  await ui.judge();
});
