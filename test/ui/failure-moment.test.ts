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

test("three clicks lead from the start page to the action that failed, with its picture (rules/recordings#the-player)", async () => {
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
  await page.waitForURL(`**/ui/captures/${job.job_id}`);
  await page.getByRole("link", { name: "See the moment it failed" }).click();

  const failed = page.locator(".player-act[data-failed]");
  await failed.getByText("click", { exact: true }).waitFor();
  await failed.getByText("#never-there").waitFor();
  await failed.getByRole("img", { name: "The page before click" }).waitFor();
  await failed.getByRole("img", { name: "The page after click" }).waitFor();
  await page.locator("canvas[data-shown]:not([data-shown='0'])").waitFor();
  // The address is that of the moment, so that it can be passed on.
  await page.waitForURL(/tab=recording&t=[0-9.]+/);
  await ui.judge();
});
