import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Job } from "#shared/protocol/schema/job.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** How somebody who has never seen the app finds out why a script failed (rules/recordings#the-player). */

setDefaultTimeout(180_000);

const SCRIPT = `import { session } from "flotilla";
await session.text("body");
await session.click("#never-there", { timeout_s: 1 });`;

let rig: UiRig;
let job: Job;
beforeAll(async () => {
  rig = await uiRig();
  const { job_id } = await rig.api<Job>("POST", "/jobs", {
    url: `${rig.site}/form`,
    options: {
      mode: "rerun",
      code: SCRIPT,
    },
  });
  job = await until("the end of the job", 120_000, async () => {
    const now = await rig.api<Job>("GET", `/jobs/${job_id}`);
    return now.finished_at === null ? undefined : now;
  });
  await until("the whole recording", 60_000, async () => {
    const { state } = await rig.api<{ state: string }>("GET", `/jobs/${job_id}/recording`);
    return state !== "live";
  });
}, 240_000);

test("two clicks lead from the start page to the action that failed, with its picture (rules/recordings#the-player)", async () => {
  expect(job.status).toBe("failed");
  await using ui = await rig.open("/ui");
  const { page } = ui;
  await page
    .getByRole("navigation")
    .getByRole("link", { name: "Captures", exact: true })
    .first()
    .click();
  const rows = page.getByRole("table", { name: "Jobs" }).locator(".row.body");
  await rows.filter({ hasText: "failed" }).first().click();
  await page.getByRole("link", { name: "Open capture" }).click();
  await page.waitForURL(`**/ui/captures/${job.job_id}`);

  // It opens there by itself.
  const failed = page.getByRole("list", { name: "Actions" }).locator("[data-failed]");
  await failed.getByText("Click #never-there").waitFor();
  await page.locator(".player-act[data-failed][data-now]").waitFor();
  await page.getByRole("radiogroup", { name: "Before, at or after the action" }).waitFor();
  await page.locator("canvas[data-shown]:not([data-shown='0'])").waitFor();
  // What the panels show is of that time.
  await page.getByRole("button", { name: "Show the whole run" }).waitFor();
  await ui.judge();

  // So does a link that was made before anybody knew when it failed.
  await page.goto(`${rig.url}/ui/captures/${job.job_id}?t=failure`);
  await page.waitForURL(/[?&]t=[0-9.]+/);
  await page.locator(".player-act[data-failed][data-now]").waitFor();
});
