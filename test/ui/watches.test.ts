import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Job } from "#shared/protocol/schema/job.ts";
import type { Watch } from "#shared/protocol/schema/watch.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** Watches (rules/watches#watch-record) and the difference of two captures, as people see them. */

setDefaultTimeout(180_000);

let rig: UiRig;
/** One address that shows another page after `renewed`: a watch of another address would begin anew. */
let site: ReturnType<typeof Bun.serve>;
let renewed = false;
beforeAll(async () => {
  rig = await uiRig();
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => {
      const body = renewed
        ? "<form><label>Name <input></label><button>Go</button></form>"
        : "<h1>Hello</h1>";
      return new Response(`<!doctype html><html lang="en"><title>Test site</title>${body}`, {
        headers: { "content-type": "text/html; charset=utf-8" },
      });
    },
  });
});
afterAll(() => site?.stop(true), 60_000);

const HOSTILE = '"><script>alert(1)</script>';
const read = (id: string) => rig.api<Watch>("GET", `/watches/${id}`);
const add = (more: object) =>
  rig.api<Watch>("POST", "/watches", { url: `${rig.site}/page`, cron: "@yearly", ...more });
/** A capture of the watch, compared. */
const capture = async (id: string): Promise<Job> => {
  const { job_id } = await rig.api<Job>("POST", `/watches/${id}/capture`);
  await until("the comparison", 120_000, async () => (await read(id)).capturing === null);
  return rig.api<Job>("GET", `/jobs/${job_id}`);
};

test("a watch is made; what the API refuses is said at its field (rules/web-app#forms-of-the-app)", async () => {
  await using ui = await rig.open("/ui/captures/schedules");
  const { page } = ui;
  await page.getByRole("button", { name: "New watch" }).click();
  await page.getByRole("textbox", { name: "Address" }).fill("shop floor");
  await page.getByRole("textbox", { name: "Times" }).fill("* * * * * *");
  await page.getByRole("button", { name: "Save the watch" }).click();
  await page
    .getByRole("textbox", { name: "Address" })
    .and(page.locator("[aria-invalid=true]"))
    .waitFor();
  await page.getByRole("textbox", { name: "Address" }).fill(`${rig.site}/page`);
  await page.getByRole("textbox", { name: "Name" }).fill(HOSTILE);
  await page.getByRole("textbox", { name: "Time zone" }).fill("Europe/Vienna");
  await page.getByRole("checkbox", { name: "assets" }).check();
  await page.getByRole("textbox", { name: "Lines that do not count" }).fill("*today*\n\n*visitors");
  await page.getByRole("button", { name: "Save the watch" }).click();
  await page.getByText("must have five fields").waitFor();
  await page.getByRole("textbox", { name: "Times" }).fill("0 7 * * *");
  await ui.judge(/422/);
  await page.getByRole("button", { name: "Save the watch" }).click();
  await page.getByRole("heading", { name: HOSTILE }).waitFor();
  const watch_id = page.url().split("/").at(-1) ?? "";
  expect(await read(watch_id)).toMatchObject({
    ...{ name: HOSTILE, cron: "0 7 * * *", cron_tz: "Europe/Vienna", webhook_url: null },
    compare: ["text", "title", "status", "assets"],
    ignore_text: ["*today*", "*visitors"],
  });
  await rig.api("DELETE", `/watches/${watch_id}`);
});

test("a watch is captured, paused, changed and deleted (rules/watches#calls)", async () => {
  const { watch_id } = await add({ name: "Kept", options: { idle_seconds: 0.5 } });
  await using ui = await rig.open(`/ui/captures/schedules/${watch_id}`);
  const { page } = ui;
  await page.getByText("There are no captures yet").waitFor();
  await page.getByRole("button", { name: "Capture now" }).click();
  const captures = page.getByRole("table", { name: "Captures" });
  await captures.getByText("first").waitFor();
  await captures.getByText("Test site", { exact: true }).waitFor();
  const { host } = new URL(rig.site);
  await captures.getByText(host, { exact: true }).waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  await captures.getByText("Test site", { exact: true }).waitFor();
  await captures.getByText(host, { exact: true }).waitFor();
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("button", { name: "Continue" }).waitFor();
  expect((await read(watch_id)).paused).toBe(true);
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByText("At an interval").click();
  await page.getByRole("textbox", { name: "Seconds between captures" }).fill("600");
  await page.getByRole("button", { name: "Save the watch" }).click();
  await page.getByText("paused; every 10 min").waitFor();
  expect(await read(watch_id)).toMatchObject({
    ...{ cron: null, every_s: 600, options: { idle_seconds: 0.5 }, captures: 1 },
  });
  await ui.judge();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.waitForURL("**/ui/captures/schedules");
});

test("the captures of a watch lead to what changed between two of them (rules/comparison#compare-two-jobs)", async () => {
  const url = site.url.href;
  const { watch_id } = await add({ name: "Compared", url, options: { idle_seconds: 0.5 } });
  const first = await capture(watch_id);
  renewed = true;
  const second = await capture(watch_id);
  expect(second).toMatchObject({ changed: true, changes: { against: first.job_id } });
  await using ui = await rig.open("/ui/captures/schedules");
  const { page } = ui;
  await page.getByText("Compared", { exact: true }).click();
  await page.getByRole("link", { name: "Open watch" }).click();
  await page.waitForURL(`**/ui/captures/schedules/${watch_id}`);
  const difference = page.getByRole("link", { name: `Difference of capture ${second.job_id}` });
  await page.setViewportSize({ width: 390, height: 844 });
  await difference.waitFor();
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.getByRole("button", { name: "Only changed ones" }).click();
  await difference.click();
  await page.waitForURL(`**/ui/captures/${first.job_id}/diff/${second.job_id}`);
  await page.getByRole("region", { name: "Changes of the text" }).waitFor();
  // rules/comparison#picture
  await page.getByText(/of the picture differs, in/).waitFor();
  const frames = page.locator(".picture-frame");
  expect(await frames.count()).toBeGreaterThan(1);
  for (const name of ["before", "after"])
    await page.getByRole("img", { name: `The page ${name}` }).waitFor();
  await page.getByRole("checkbox", { name: "Frame what differs" }).uncheck();
  expect(await frames.count()).toBe(0);
  await page.getByRole("checkbox", { name: "Frame what differs" }).check();
  await ui.judge();
  await page.getByRole("link", { name: second.job_id }).click();
  await page.getByRole("tab", { name: "Details" }).click();
  await page.getByRole("link", { name: watch_id }).waitFor();
  await page.getByRole("link", { name: "changed", exact: true }).waitFor();
  await ui.judge();
  await rig.api("DELETE", `/watches/${watch_id}`);
});

test("the address of a watch that is gone says so (rules/web-app#addresses-of-the-app)", async () => {
  await using ui = await rig.open("/ui/captures/schedules/gone");
  await ui.page.getByText("It may have been deleted, or the address is mistyped.").waitFor();
});
