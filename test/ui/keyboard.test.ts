import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";
import { uiTasks } from "#test/support/rigs/ui-tasks.ts";

/** The admin UI without a mouse. */

setDefaultTimeout(180_000);

let rig: UiRig;
beforeAll(async () => {
  rig = await uiRig();
  const tasks = uiTasks(rig);
  await tasks.make("g-keys", "echo what the keys lead to >&2; exit 7");
  await tasks.submit("g-keys", "key-1");
  await tasks.settled("g-keys", { failed: 1 });
});

/** More stops than these before the table would be too many. */
const MOST_TABS = 20;

test("a person gets from / to why a run failed with the keyboard alone (rules/pipeline-runs#read-a-run)", async () => {
  await using ui = await rig.open("/");
  const { page } = ui;
  const { keyboard } = page;
  // Together: what is pressed later than a second and a half after `g` is none of its sequence.
  await Promise.all([keyboard.press("g"), keyboard.press("r")]);
  await page.waitForURL("**/ui/pipelines/runs");
  await page.locator("[data-filter]").waitFor();
  await keyboard.press("/");
  await keyboard.type("g-keys");
  await page.getByRole("option", { name: "g-keys" }).waitFor();
  await keyboard.press("ArrowDown");
  await keyboard.press("Enter");
  await page.waitForURL("**workload=g-keys**");
  await page.getByRole("row", { name: /key-1/ }).waitFor();
  const onRow = page.locator(".row.body:focus");
  let tabs = 0;
  while ((await onRow.count()) === 0 && tabs < MOST_TABS) {
    tabs += 1;
    await keyboard.press("Tab");
  }
  expect(await onRow.count()).toBe(1);
  await ui.judge();
  await keyboard.press("Enter");
  const drawer = page.getByRole("region", { name: "key-1" });
  await drawer.getByText("what the keys lead to").first().waitFor();
  await keyboard.press("Escape");
  await drawer.waitFor({ state: "detached" });
  expect(await onRow.count()).toBe(1);
});
