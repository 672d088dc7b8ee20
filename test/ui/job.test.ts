import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Job } from "#shared/protocol/schema/job.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiPage, type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/** The page of a job (rules/jobs#job-record). What its site sends is hostile wherever it can be. */

setDefaultTimeout(240_000);

const EVIL = "<img src=x onerror=alert(1)>";
const PICTURE =
  "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='20'><rect width='40' height='20' fill='teal'/><script>alert(2)</script></svg>";
const PAGE = `<!doctype html><html lang="en"><title>&lt;img src=x onerror=alert(1)&gt; shop</title>
<link rel="stylesheet" href="/look.css"><style>#b{background:url(/pic.svg?n=2)}</style>
<body onload="window.ran = 1"><h1 style="color: rgb(1, 2, 3)">Hello</h1><p id="a">a</p><p id="b">b</p>
<a href="javascript:alert(3)">${EVIL.replaceAll("<", "&lt;")}</a>
<img src="/pic.svg" alt="A picture" onload="window.ran = 2"><img src="${encodeURI(`/${EVIL}.png`)}" alt="">
<iframe src="/inner"></iframe><script>fetch("/data.json?q=${encodeURIComponent(EVIL)}"); window.ran = 3</script>`;

let rig: UiRig;
let site: ReturnType<typeof Bun.serve>;
let job: Job;
const dialogs: string[] = [];

beforeAll(async () => {
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const { pathname } = new URL(request.url);
      const body = (text: string, type: string) =>
        new Response(text, { headers: { "content-type": type } });
      if (/\.(svg|png)$/.test(pathname)) return body(PICTURE, "image/svg+xml");
      if (pathname === "/look.css")
        return body("@import url(//elsewhere.invalid/x.css); #a{color:rgb(4, 5, 6)}", "text/css");
      if (pathname === "/data.json") return body(`{"evil":"${EVIL}"}`, "application/json");
      return body(pathname === "/inner" ? "inner" : PAGE, "text/html");
    },
  });
  rig = await uiRig();
  job = await submit({ idle_seconds: 0.3 }, `?"><script>alert(4)</script>`);
  job = await ended(job.job_id);
}, 240_000);
afterAll(async () => {
  await site?.stop(true);
  // Of every page of this file.
  expect(dialogs).toEqual([]);
}, 180_000);

const submit = (options: object, query = "") =>
  rig.api<Job>("POST", "/jobs", { url: `${site.url.href}${query}`, options });
const read = (job_id: string) => rig.api<Job>("GET", `/jobs/${job_id}`);
const ended = (job_id: string) =>
  until(`the end of ${job_id}`, 150_000, async () => {
    const now = await read(job_id);
    return now.finished_at === null ? undefined : now;
  });
async function openJob(job_id: string, query = ""): Promise<UiPage> {
  const ui = await rig.open(`/ui/captures/${job_id}${query}`);
  ui.page.on("dialog", (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  return ui;
}

/** A job whose page was pictured, without a film: on a busy machine a page may not answer in the time for it. */
const pictured = () =>
  until("a job with its pictures", 100_000, async () => {
    const { job_id } = await submit({ idle_seconds: 0.3, headless: true, record: "off" });
    const { screenshot_href } = await ended(job_id);
    return screenshot_href ? { job_id, screenshot_href } : undefined;
  });

test("without a recording the player shows the page at the end, with the same panels (rules/documents#final-state)", async () => {
  const { job_id, screenshot_href } = await pictured();
  await using ui = await openJob(job_id);
  const { page } = ui;
  const picture = page.getByRole("img", { name: "The page at the end of the job" });
  await picture.waitFor();
  expect(await picture.getAttribute("src")).toBe(screenshot_href);
  await until("the picture", 60_000, async () => {
    const width = await picture.evaluate((img) => Reflect.get(img, "naturalWidth"));
    return width > 320 ? true : undefined;
  });
  const whole = page.getByRole("link", { name: "Open the whole page" });
  expect(await whole.getAttribute("href")).toBe(screenshot_href);
  const answer = await fetch(rig.url + screenshot_href);
  expect(answer.headers.get("content-type")).toBe("image/png");
  await page.getByText(/^\d+ requests, /).waitFor();
  await ui.judge();
});

test("the page tells what became of it, what happened, its capture, facts and options, and hostile titles as text (rules/jobs#job-record)", async () => {
  expect(job.status).toBe("completed");
  await using ui = await openJob(job.job_id, "?tab=overview");
  const { page } = ui;
  await page.getByRole("heading", { level: 1, name: `${EVIL} shop` }).waitFor();
  await page.getByRole("region", { name: "What became of it" }).getByText("files whole").waitFor();
  const story = page.getByRole("list", { name: "Actions" });
  await story.getByText("Waited in the queue").waitFor();
  await story.getByText("Files stored", { exact: true }).waitFor();
  await page
    .getByText(/bodies whole/)
    .first()
    .waitFor();
  await page.getByText("idle_seconds").waitFor();
  expect(await page.getByText("download_video").count()).toBe(0);
  await page.getByRole("switch", { name: "Unset ones too" }).click();
  await page.getByText("download_video").waitFor();
  await ui.judge();
});

test("the log is whole, can be filtered, and a link shows the same (rules/events#event-stream)", async () => {
  await using ui = await openJob(job.job_id, "?tab=log");
  const { page } = ui;
  const log = page.getByRole("list", { name: "Log" });
  await log.getByText("completed").first().waitFor();
  expect(await log.getByText('"><script>alert(4)</script>').count()).toBeGreaterThan(0);
  await page.getByRole("textbox", { name: "Lines that hold" }).fill("opening");
  await page.getByText(/^1 of \d+ lines/).waitFor();
  await page.getByText("debug", { exact: true }).click();
  await page.waitForURL(/levels=info%2Cwarn%2Cerror.*q=opening|q=opening.*levels=/);
  await page.reload();
  await page.getByText(/^1 of \d+ lines/).waitFor();
  await page.locator("[data-feed=ended]").waitFor();
  await ui.judge();
});

test("assets are seen as pictures and as a list, and read as text; a hostile name is text (rules/documents#safe-to-open)", async () => {
  await using ui = await openJob(job.job_id, "?tab=assets");
  const { page } = ui;
  const gallery = page.getByRole("region", { name: "Gallery" });
  await until("a thumbnail", 60_000, () =>
    gallery
      .locator("img")
      .first()
      .evaluate((img) => (img as unknown as { naturalWidth: number }).naturalWidth > 0),
  );
  const name = await gallery.getByText("onerror").first().textContent();
  if (name === null) throw new Error("no hostile name");
  await page.getByRole("button", { name }).click();
  const drawer = page.getByRole("dialog");
  await drawer.getByRole("img", { name }).waitFor();
  expect(await drawer.getByRole("link", { name: "Download" }).getAttribute("href")).toBe(
    `/jobs/${job.job_id}/assets/${encodeURIComponent(name)}`,
  );
  await ui.judge();
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByText("List", { exact: true }).click();
  await page.getByRole("textbox", { name: "Name, address or type" }).fill("data.json");
  await page.getByRole("table").getByRole("row").last().press("Enter");
  await drawer.getByText(`{"evil":"${EVIL}"}`).waitFor();
  await page.waitForURL(/view=list.*asset=|asset=.*view=list/);
});

test("one of the requests opens with what came back, its headers and times, and leads to its body (rules/documents#har)", async () => {
  await using ui = await openJob(job.job_id, "?tab=har");
  const { page } = ui;
  const rows = page.getByRole("list", { name: "Requests" }).getByRole("listitem");
  await rows.first().waitFor();
  await page.getByRole("button", { name: "Filter the requests" }).click();
  await page.getByRole("textbox", { name: "Address, method or status" }).fill("data.json");
  await page.getByText(/^1 of \d+ requests/).waitFor();
  await rows.last().getByRole("button").click();
  const one = page.getByRole("region", { name: "Request", exact: true });
  await one.getByText("200 OK").waitFor();
  await one.getByText(`"evil": "${EVIL}"`).waitFor();
  await one.getByRole("tab", { name: "Headers" }).click();
  await one.getByText("Content-Type", { exact: true }).waitFor();
  await one.getByRole("tab", { name: "Times" }).click();
  await one.getByText("Waiting for the answer").waitFor();
  await ui.judge();
  // The one that is open stands in the address.
  await page.waitForURL(/request=\d+/);
  await page.reload();
  await one.getByRole("link", { name: /^Its body/ }).click();
  await page.waitForURL("**/*tab=assets*");
  await page.getByRole("dialog").getByText(`{"evil":"${EVIL}"}`).waitFor();
});

test("the captured page is shown without running and without asking its site; its links are listed (rules/documents#captured-page)", async () => {
  await using ui = await openJob(job.job_id, "?tab=page");
  const { page } = ui;
  const element = page.getByTitle("The captured page");
  expect(await element.getAttribute("sandbox")).toBe("");
  const frame = element.contentFrame();
  const style = (selector: string, of: "color" | "backgroundImage") =>
    frame.locator(selector).evaluate(
      // Runs in the page.
      (found, name) =>
        (
          globalThis as unknown as { getComputedStyle(e: unknown): Record<string, string> }
        ).getComputedStyle(found)[name],
      of,
    );
  await frame.getByRole("heading", { name: "Hello" }).waitFor();
  expect(await style("h1", "color")).toBe("rgb(1, 2, 3)");
  expect(await style("#a", "color")).toBe("rgb(4, 5, 6)");
  expect(await style("#b", "backgroundImage")).toStartWith('url("data:image/svg+xml');
  expect(await frame.getByAltText("A picture").getAttribute("src")).toStartWith("data:image/svg");
  expect(await frame.locator("script, iframe, [onload], [href]").count()).toBe(0);
  await ui.judge();
  await page.getByText("Source", { exact: true }).click();
  await page.getByText("window.ran = 3").waitFor();
  await page.getByText("Links", { exact: true }).click();
  await page
    .getByRole("table", { name: "Links of the page" })
    .getByText("javascript:alert(3)")
    .waitFor();
  expect(await page.locator("a[href^=javascript]").count()).toBe(0);
});

test("a running job is told live, pictured and cancelled; then it is run again and deleted (rules/documents#screenshot-of-a-running-job)", async () => {
  // Until it is cancelled.
  const running = await submit({ settle_seconds: 900, max_wait_seconds: 900 });
  await using ui = await openJob(running.job_id, "?tab=log");
  const { page } = ui;
  const log = page.getByRole("list", { name: "Log" });
  await page.locator("[data-feed=live]").waitFor();
  await log.getByText("load event after").waitFor();
  await page.getByRole("slider", { name: "Place in the recording" }).waitFor();
  await page.locator("iframe").first().waitFor();
  await page.getByRole("button", { name: "Take a screenshot" }).click();
  await page.getByText("The screenshot is stored as").waitFor();
  const { items } = await rig.api<{ items: { mime: string }[] }>(
    "GET",
    `/jobs/${running.job_id}/assets.json`,
  );
  expect(items.map(({ mime }) => mime)).toContain("image/png");
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByRole("button", { name: "Cancel the job" }).click();
  expect((await ended(running.job_id)).status).toBe("cancelled");
  await page.locator('main [data-status="cancelled"]').waitFor();
  // The page says so and stays: the film is there, the log is still the panel.
  await page.getByText("It has ended while you watched.").waitFor();
  await page.getByRole("img", { name: "Recorded screen" }).waitFor();
  await log.waitFor();
  expect(new URL(page.url()).pathname).toBe(`/ui/captures/${running.job_id}`);
  await ui.judge();

  const more = page.getByRole("button", { name: "More", exact: true });
  await more.click();
  const edit = page.getByRole("menuitem", { name: "Edit and submit again" });
  expect(await edit.getAttribute("href")).toBe(`/ui/captures/new?from=${running.job_id}`);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Run again" }).click();
  const away = new RegExp(`/ui/captures/(?!${running.job_id})[^?]+$`);
  await page.waitForURL(away);
  const again = await read(page.url().split("/").at(-1) ?? "");
  expect(again).toMatchObject({ url: running.url, options: running.options });

  await more.click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete the job" }).click();
  await page.waitForURL("**/ui/captures");
  await expect(read(again.job_id)).rejects.toThrow("404");
});

test("a queued job tells its place and why it waits, and starts before one's eyes (rules/jobs#what-a-queued-job-waits-for)", async () => {
  const { workers } = await rig.api<{ workers: { worker_id: string }[] }>("GET", "/workers");
  const path = `/workers/${workers[0]?.worker_id}/status`;
  await rig.api("POST", path, { status: "standby" });
  try {
    const code = `import { session } from "flotilla"; export default await session.evaluate("document.title");`;
    const queued = await submit({ mode: "rerun", code });
    await using ui = await openJob(queued.job_id);
    const { page } = ui;
    await page.getByText(/Waiting for a browser .* Place 1 in the queue/).waitFor();
    await page
      .getByText(/No connected worker takes work: \S+ is on standby\. Set one to active/)
      .waitFor();
    await rig.api("POST", path, { status: "active" });
    await page.locator('main [data-status="completed"]').waitFor();
    await page.getByRole("tab", { name: "Attempts" }).click();
    await page.getByRole("tab", { name: "Output" }).click();
    await page.getByText(`"${EVIL} shop"`).waitFor();
    await ui.judge();
  } finally {
    await rig.api("POST", path, { status: "active" });
  }
});

test("a job that failed says why and what to do; one that is not there says so (rules/jobs#failed-and-completed)", async () => {
  const dead = await rig.api<Job>("POST", "/jobs", { url: "http://127.0.0.1:9/", options: {} });
  const failed = await ended(dead.job_id);
  await using ui = await openJob(dead.job_id, "?tab=har");
  const { page } = ui;
  const said = page.getByRole("region", { name: "What became of it" });
  await said.getByText("Could not open http://127.0.0.1:9/").waitFor();
  await said.getByText("Check the address for typing errors").waitFor();
  // Nothing of the error is left out.
  const text = (await said.textContent())?.toLowerCase() ?? "";
  for (const part of failed.error?.toLowerCase().split(": ") ?? ["no error"])
    expect(text).toContain(part);
  const story = page.getByRole("list", { name: "Actions" });
  await story.locator("[data-tone=bad]").getByText("Page opened").waitFor();
  expect(await story.locator("[data-tone=bad]").count()).toBe(1);
  await page.goto(new URL("/ui/captures/nothing", page.url()).href);
  await page.getByRole("heading", { name: "There is no such job" }).waitFor();
  await ui.judge(/404/);
});
