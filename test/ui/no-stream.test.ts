import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Job } from "#shared/protocol/schema/job.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";
import { type PlainProxy, startPlainProxy } from "#test/support/servers/plain-proxy.ts";

/** The admin UI behind a proxy that lets no stream through. */

setDefaultTimeout(180_000);

const OURS = "c-plain";

let rig: UiRig;
let proxy: PlainProxy;

beforeAll(async () => {
  rig = await uiRig();
  proxy = startPlainProxy(rig.url);
});
afterAll(async () => {
  rig.release();
  await proxy?.stop();
});

const submit = (path: string) =>
  rig.api<Job>("POST", "/jobs", {
    url: `${rig.site}${path}?${OURS}`,
    // Until it is cancelled.
    options: { settle_seconds: 900, wait_seconds: 600, max_wait_seconds: 900 },
  });

test("without the stream of changes and without WebSockets a jobs table, a running job and its log go on by asking (rules/web-app#pages-follow-changes)", async () => {
  const { job_id } = await submit("/slow");
  await using ui = await rig.open(`/ui/captures?q=${OURS}`, { url: proxy.url });
  const { page } = ui;
  await page.getByRole("status").getByText("Connected").waitFor();
  const rows = page.getByRole("table", { name: "Jobs" }).locator(".row.body");
  await until("one job", 60_000, async () => (await rows.count()) === 1);
  const other = await submit("/page");
  await until("the new job in the table", 60_000, async () => (await rows.count()) === 2);
  await rig.api("POST", `/jobs/${other.job_id}/cancel`);

  await rows.last().click();
  await page.getByRole("link", { name: "Open capture" }).click();
  await page.getByRole("tab", { name: "Log" }).click();
  await page.locator("[data-feed=polling]").waitFor();
  const log = page.getByRole("list", { name: "Log" });
  await log
    .getByText(/opening/)
    .first()
    .waitFor();
  expect(await log.getByText("load event after").count()).toBe(0);
  rig.release();
  await log.getByText("load event after").waitFor();
  await rig.api("POST", `/jobs/${job_id}/cancel`);
  await page.locator('main [data-status="cancelled"]').waitFor();
  await page.locator("[data-feed=ended]").waitFor();
  expect(proxy.turned_away).toContain("/ui/changes");
  expect(proxy.turned_away).toContain(`/jobs/${job_id}/events`);
  expect(ui.complaints(/501|WebSocket|noVNC|connecting|novnc/)).toEqual([]);
});

test("a stream of changes that was closed and opens again has the page read what it shows, as nobody told what changed meanwhile (rules/web-app#pages-follow-changes)", async () => {
  await using ui = await rig.open("/ui/captures?q=nothing-of-this-name");
  const { page } = ui;
  await page.getByRole("heading", { name: "No job matches these filters" }).waitFor();
  let opened = 0;
  let read = 0;
  page.on("request", (request) => {
    if (new URL(request.url()).pathname === "/jobs") read += 1;
  });
  // It ends at once, and asks for the next one in a fifth of a second.
  await page.route("**/ui/changes", (route) => {
    opened += 1;
    return route.fulfill({ contentType: "text/event-stream", body: "retry: 200\n\n" });
  });
  await page.reload();
  await until("ten streams", 60_000, async () => opened >= 10);
  // Pages that poll read once in seconds.
  expect(read).toBeGreaterThanOrEqual(opened / 2);
  expect(ui.complaints()).toEqual([]);
});
