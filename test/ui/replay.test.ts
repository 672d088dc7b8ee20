import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Job } from "#shared/protocol/schema/job.ts";
import type { Session } from "#shared/protocol/schema/session.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** A capture is shown again from the page of its job (rules/replay#open-a-replay). */

setDefaultTimeout(180_000);

let rig: UiRig;
let job: Job;
let sid = "";

beforeAll(async () => {
  rig = await uiRig();
  const options = { idle_seconds: 0.5, headless: true };
  const { job_id } = await rig.api<Job>("POST", "/jobs", { url: `${rig.site}/page`, options });
  job = await until(`the end of ${job_id}`, 150_000, async () => {
    const now = await rig.api<Job>("GET", `/jobs/${job_id}`);
    return now.finished_at === null ? undefined : now;
  });
});
afterAll(() => rig.api("DELETE", `/sessions/${sid}`).catch(() => {}));

test("the page of a completed job opens its replay, taken over, and tells what is missing (rules/replay#the-report)", async () => {
  expect(job.status).toBe("completed");
  await using ui = await rig.open(`/ui/captures/${job.job_id}`);
  const { page } = ui;
  await page.getByRole("button", { name: "Replay from here" }).click();
  await page.waitForURL("**/ui/browsers/**");
  sid = new URL(page.url()).pathname.split("/").at(-1) ?? "";
  await page.getByRole("link", { name: `Replay of ${job.job_id}` }).waitFor();
  await page.frameLocator("iframe").getByText("Connected", { exact: true }).waitFor();
  const code = "fetch('/elsewhere').then((answer) => answer.status)";
  const { result } = await rig.api<{ result: unknown }>("POST", `/sessions/${sid}/evaluate`, {
    code,
  });
  expect(result).toBe(504);
  const missing = page.getByRole("list", { name: "Not in the capture" });
  await missing.getByText(`GET ${rig.site}/elsewhere`).waitFor();
  await missing.getByText("it is not in the capture").waitFor();
  await ui.judge();
});

test("the wall marks a replay, and the form of a session opens one at its own time (rules/replay#the-clock)", async () => {
  await using ui = await rig.open(`/ui/browsers?q=${sid}`);
  const { page } = ui;
  await page.locator(".wall-tile").getByText(`Replay of ${job.job_id}`).waitFor();
  await ui.judge();
  await rig.api("DELETE", `/sessions/${sid}`);
  await page.goto(`${rig.url}/ui/browsers?new=any`);
  const dialog = page.getByRole("dialog", { name: "Open a session" });
  await dialog.getByRole("switch", { name: /^Headless/ }).click();
  await dialog.getByRole("button", { name: "More" }).click();
  await dialog.getByRole("textbox", { name: "Replay of the job" }).fill(job.job_id);
  await dialog.getByRole("combobox", { name: "Clock of the replay" }).click();
  await page.getByRole("option", { name: "The time of the capture" }).click();
  await dialog.getByRole("button", { name: "Open", exact: true }).click();
  await page.waitForURL("**/ui/browsers/**");
  sid = new URL(page.url()).pathname.split("/").at(-1) ?? "";
  await page.getByText("Its clock began at").waitFor();
  const { replay } = await rig.api<Session>("GET", `/sessions/${sid}/state`);
  expect(replay).toMatchObject({ job_id: job.job_id, clock_began: expect.any(String) });
  await ui.judge();
});
