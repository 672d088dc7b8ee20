import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Job } from "#shared/protocol/schema/job.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiPage, type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** Captures as pictures, compared with each other, and their player on every size of window (rules/web-app#captures). */

setDefaultTimeout(180_000);

const TITLE = "Harbour supplies";

let rig: UiRig;
let site: ReturnType<typeof Bun.serve>;
let visits = 0;
let first: Job;
let second: Job;
let broken: Job;

beforeAll(async () => {
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => {
      const html = (body: string, status = 200) =>
        new Response(body, { status, headers: { "content-type": "text/html; charset=utf-8" } });
      if (new URL(url).pathname === "/broken") return html("<title>Broken</title>Sorry", 500);
      if (new URL(url).pathname === "/rope") visits += 1;
      return html(`<!doctype html><html lang="en"><title>${TITLE}</title><h1>Rope</h1>
<p>Visitor ${visits}</p>`);
    },
  });
  rig = await uiRig();
  first = await captured("/rope");
  second = await captured("/rope");
  broken = await captured("/broken");
}, 240_000);
afterAll(() => site?.stop(true), 60_000);

async function captured(path: string): Promise<Job> {
  const url = new URL(path, site.url).href;
  const options = { idle_seconds: 1.5, headless: true };
  const { job_id } = await rig.api<Job>("POST", "/jobs", { url, options });
  return until(`the end of ${job_id}`, 150_000, async () => {
    const now = await rig.api<Job>("GET", `/jobs/${job_id}`);
    return now.finished_at === null ? undefined : now;
  });
}

const list = () => `/ui/captures?host=${encodeURIComponent("127.0.0.1")}&q=${site.port}`;
const rowsOf = ({ page }: UiPage) => page.getByRole("table", { name: "Jobs" }).locator(".row.body");
const overflow = ({ page }: UiPage) =>
  page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");

for (const { name, width, height, colors } of [
  { name: "a wide window", width: 1_440, height: 900, colors: "light" },
  { name: "a tablet", width: 820, height: 1_100, colors: "dark" },
  { name: "a phone", width: 390, height: 844, colors: "light" },
] as const) {
  test(`on ${name} the list has picture, title, host with port, result, size and age of each capture`, async () => {
    await using ui = await rig.open(list(), { width, height, colors });
    const rows = rowsOf(ui);
    const row = rows.filter({ hasText: TITLE }).first();
    await row.waitFor();
    await row.getByText(`127.0.0.1:${site.port}`, { exact: true }).waitFor();
    await row.getByText("completed").waitFor();
    await row.getByText(/\d+(\.\d+)? k?B/).waitFor();
    await row.getByText(/ago|now/).waitFor();
    await until("its picture", 60_000, () =>
      row
        .locator(".thumb img")
        .evaluate((img) => (Reflect.get(img, "naturalWidth") as number) > 0)
        .catch(() => false),
    );
    await rows.getByText("completed · 500").waitFor();
    expect(await overflow(ui)).toBeLessThanOrEqual(0);
    await ui.judge();
  });

  test(`on ${name} the page of a capture is its player, and nothing runs over`, async () => {
    await using ui = await rig.open(`/ui/captures/${second.job_id}`, { width, height, colors });
    const { page } = ui;
    const band = page.getByRole("region", { name: "What became of it" });
    await band.getByText("The page was captured.").waitFor();
    await page.locator("canvas[data-shown]").waitFor();
    // Nothing went wrong: it opens at its end.
    const at = page.getByRole("slider", { name: "Place in the recording" });
    const [now, most] = await Promise.all(
      ["aria-valuenow", "aria-valuemax"].map((of) => at.getAttribute(of)),
    );
    expect(now).toBe(most);
    if (width < 1_100 && width > 640) await page.getByRole("button", { name: "Panels" }).click();
    await page.getByRole("tab", { name: "Log" }).click();
    await page.getByRole("list", { name: "Log" }).getByText("completed").first().waitFor();
    expect(await overflow(ui)).toBeLessThanOrEqual(0);
    await ui.judge();
  });
}

test("where a player opens by itself is no moment in its address, also while its events are late (rules/recordings#the-player)", async () => {
  await using ui = await rig.open("/ui/captures");
  const { page } = ui;
  const read = Promise.withResolvers<void>();
  await page.route("**/recording/events*", async (route) => {
    await read.promise;
    await route.continue();
  });
  await page.goto(`${rig.url}/ui/captures/${second.job_id}`);
  const at = page.getByRole("slider", { name: "Place in the recording" });
  await at.waitFor();
  const hasMoment = ({ searchParams }: URL) => searchParams.has("t");
  await page.keyboard.press(",");
  await page.waitForURL(hasMoment);
  await page.keyboard.press("End");
  await page.waitForURL((url) => !hasMoment(url));
  const answered = page.waitForResponse("**/recording/events*");
  read.resolve();
  await answered;
  await page.getByRole("tab", { name: "Log" }).click();
  await page.getByRole("list", { name: "Log" }).getByText("completed").first().waitFor();
  expect(await at.getAttribute("aria-valuenow")).toBe(await at.getAttribute("aria-valuemax"));
  expect(hasMoment(new URL(page.url()))).toBe(false);
});

test("an error of the page is amber in the band, and says what it answered (rules/web-app#what-is-known)", async () => {
  await using ui = await rig.open(`/ui/captures/${broken.job_id}`);
  const band = ui.page.getByRole("region", { name: "What became of it" });
  await band.getByText("The page answered 500.").waitFor();
  expect(await band.getAttribute("data-tone")).toBe("warn");
  await ui.judge();
});

test("two captures are compared from the list and from the page of one (rules/comparison#compare-two-jobs)", async () => {
  const difference = `**/ui/captures/${first.job_id}/diff/${second.job_id}`;
  await using ui = await rig.open(list());
  const { page } = ui;
  const rows = rowsOf(ui).filter({ hasText: TITLE });
  const bar = page.getByRole("toolbar", { name: "Selection" });
  await rows.nth(0).getByRole("checkbox").check();
  await bar.getByText("1 selected").waitFor();
  expect(await bar.getByRole("link", { name: "Compare" }).count()).toBe(0);
  await rows.nth(1).getByRole("checkbox").check();
  await bar.getByRole("link", { name: "Compare" }).click();
  // The older one is what the other is compared with, whichever was chosen first.
  await page.waitForURL(difference);
  await page.getByText("Visitor 2").waitFor();

  await page.goto(`${rig.url}/ui/captures/${second.job_id}`);
  await page.getByRole("button", { name: "Compare" }).click();
  await page.getByRole("menuitem", { name: /ago/ }).click();
  await page.waitForURL(difference);
  await ui.judge();
});

test("the keys are listed, and the link to a moment is copied (rules/recordings#the-player)", async () => {
  await using ui = await rig.open(`/ui/captures/${second.job_id}?t=0.5`);
  const { page } = ui;
  const context = page.context();
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: rig.url });
  try {
    await page.locator('canvas[data-shown="500"]').waitFor();
    await page.keyboard.press("?");
    await page.getByText("Copy a link to the moment").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("c");
    await page.getByText("The link to this moment is copied").waitFor();
    const link = await page.evaluate<string>("navigator.clipboard.readText()");
    expect(link).toBe(`${rig.url}/ui/captures/${second.job_id}?t=0.5`);
    await ui.judge();
  } finally {
    await context.clearPermissions();
  }
});
