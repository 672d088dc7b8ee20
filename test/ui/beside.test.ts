import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";
import { uiTasks } from "#test/support/rigs/ui-tasks.ts";

/** A list and, beside it, what is chosen of it (rules/web-app#beside-a-list). */

setDefaultTimeout(180_000);

const HOST = "a-beside.example";

let rig: UiRig;
beforeAll(async () => {
  rig = await uiRig();
  await rig.api("PUT", `/hosts/${HOST}`, { notes: "beside the list" });
  await rig.api("PUT", "/hosts/b-beside.example", {});
  const tasks = uiTasks(rig);
  await tasks.make("f-beside", "exit 7");
  await tasks.submit("f-beside", "beside-1");
  await tasks.settled("f-beside", { failed: 1 });
});

const hostRow = (page: Page) => page.getByRole("row", { name: `Select ${HOST}` });
const rows = (page: Page) => page.locator(".row.body");
const boxOf = async (page: Page, selector: string) => {
  const box = await page.locator(selector).boundingBox();
  if (box === null) throw new Error(`${selector} is not shown`);
  return box;
};

test("a row is shown beside its list, by an address that shows the same again, and Escape closes it (rules/web-app#beside-a-list)", async () => {
  await using ui = await rig.open("/ui/library/hosts?q=beside");
  const { page } = ui;
  const row = hostRow(page);
  await row.getByText("beside the list").click();
  await page.waitForURL(`**q=beside&show=${HOST}`);
  await page.reload();
  const detail = page.getByRole("region", { name: HOST });
  await detail.getByText("beside the list").waitFor();
  expect(await row.getAttribute("aria-current")).toBe("true");
  const [list, beside] = [await boxOf(page, ".beside-list"), await boxOf(page, ".beside-detail")];
  expect(list.x + list.width).toBeLessThanOrEqual(beside.x);
  expect(beside.x + beside.width).toBeLessThanOrEqual(1_440);
  await ui.judge();
  await page.keyboard.press("Escape");
  await detail.waitFor({ state: "detached" });
  expect(new URL(page.url()).search).toBe("?q=beside");
  await row.getByText("beside the list").click();
  await detail.getByRole("button", { name: "Close" }).click();
  await detail.waitFor({ state: "detached" });
});

test("the page of a row opens with a double click, and its name opens another tab (rules/web-app#beside-a-list)", async () => {
  await using ui = await rig.open("/ui/library/hosts?q=beside");
  const { page } = ui;
  const name = page.getByRole("link", { name: HOST, exact: true });
  await name.click();
  await page.getByRole("region", { name: HOST }).waitFor();
  const [tab] = await Promise.all([
    page.context().waitForEvent("page"),
    name.click({ modifiers: ["ControlOrMeta"] }),
  ]);
  await tab.waitForURL(`**/ui/library/hosts/${HOST}`);
  await tab.close();
  await hostRow(page).dblclick();
  await page.waitForURL(`**/ui/library/hosts/${HOST}`);
  expect(ui.complaints()).toEqual([]);
});

test("the width of a detail is dragged, kept in the browser, and given back by a double click (rules/web-app#beside-a-list)", async () => {
  await using ui = await rig.open("/ui/pipelines/runs?workload=f-beside");
  const { page } = ui;
  await rows(page).first().click();
  const divider = page.getByRole("separator", { name: "Width of beside-1" });
  const width = async () => Number(await divider.getAttribute("aria-valuenow"));
  const usual = await width();
  await divider.press("ArrowLeft");
  await until("a wider detail", 60_000, async () => (await width()) > usual);
  const wider = await width();
  await page.reload();
  await divider.waitFor();
  expect(await width()).toBe(wider);
  await divider.dblclick();
  await until("its usual width", 60_000, async () => (await width()) === usual);
  await ui.judge();
});

test("where there is no room beside a list, a row leads to its page, and what has none opens over the list (rules/web-app#beside-a-list)", async () => {
  await using ui = await rig.open("/ui/library/hosts?q=beside", { width: 390, height: 844 });
  const { page } = ui;
  await hostRow(page).click();
  await page.waitForURL(`**/ui/library/hosts/${HOST}`);
  await page.goto(`${rig.url}/ui/pipelines/runs?workload=f-beside`);
  await rows(page).first().click();
  const over = page.getByRole("dialog", { name: "beside-1" });
  await over.getByText("Attempt 1").waitFor();
  await ui.judge();
  await page.keyboard.press("Escape");
  await over.waitFor({ state: "detached" });
});
