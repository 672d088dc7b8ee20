import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import type { HubAssignJob } from "#shared/protocol/link/messages.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { startTestHub, type TestHub } from "#test/support/rigs/hub.ts";
import {
  type Colour,
  jpegUpdate,
  madeEntry,
  makeRecording,
  plainUpdate,
} from "#test/support/rigs/made-recording.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";

/**
 * The player of recordings (rules/recordings#the-player): what a worker has sent to the hub is decoded in the browser, and the
 * picture of each moment has the colours that were on the screen then.
 */

setDefaultTimeout(180_000);

const [WIDTH, HEIGHT] = [320, 200];
const RED: Colour = [200, 30, 30];
const GREEN: Colour = [20, 160, 60];
const BLUE: Colour = [30, 60, 220];
const WHITE: Colour = [255, 255, 255];
const BOX = { x: 40, y: 50, width: 80, height: 60 };
/** What a run without a recording, a HAR or an open session leaves in the console. */
const MISSING = /status of (404|502)/;

let rig: UiRig;
let hub: TestHub;
let worker: FakeWorker;
beforeAll(async () => {
  rig = await uiRig();
  hub = await startTestHub({ alone: true });
  worker = await hub.worker({ lanes: 3 });
}, 120_000);
afterAll(() => hub?.close());

/** A picture in one colour, made by the browser that the test has. */
async function plainJpeg(page: Page, colour: Colour): Promise<Uint8Array> {
  const url = await page.evaluate<string>(`(() => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [${WIDTH}, ${HEIGHT}];
    const context = canvas.getContext("2d");
    context.fillStyle = "rgb(${colour})";
    context.fillRect(0, 0, ${WIDTH}, ${HEIGHT});
    return canvas.toDataURL("image/jpeg", 1);
  })()`);
  return Buffer.from(url.slice(url.indexOf(",") + 1), "base64");
}

/** Colours of a JPEG are nearly those that went in. */
const near = ([red, green, blue]: Colour): Colour => {
  const nearly = (n: number): number => expect.closeTo(n, -1);
  return [nearly(red), nearly(green), nearly(blue)];
};

/** Red, a green box at 5 s, a new chunk in blue at 30 s; an action at 5 s, an error at 40 s. */
const madeFor = (of: "job" | "session", id: string) =>
  makeRecording(WIDTH, HEIGHT)
    .event(0, {
      ...{ type: "start", at: new Date().toISOString(), of, id, mode: "screen" },
      screen: "headful",
    })
    .event(300, { type: "navigation", url: "http://shop.test/", status: 200 })
    .chunk(400, "start")
    .plain(500, RED)
    .screen(5_000, plainUpdate([{ ...BOX, colour: GREEN }]), 2)
    .event(5_200, {
      ...{ type: "action", name: "click", arguments: { selector: "#buy" }, ms: 1_000 },
      ...{ outcome: "done", box: BOX },
    })
    .event(12_000, { type: "console", level: "warning", text: "prices are old" })
    .chunk(30_000)
    .plain(30_050, BLUE)
    .event(40_000, { type: "error", text: "buy is not a function" });

async function send(path: string, lease_token: number, offset: number, bytes: Uint8Array) {
  const { upload_token } = await worker.registered;
  const response = await fetch(
    `${hub.url}/workers/${worker.worker_id}/${path}/recording?offset=${offset}`,
    {
      method: "PUT",
      headers: { Authorization: `Bearer ${upload_token}`, "X-Lease-Token": String(lease_token) },
      body: bytes.slice(),
    },
  );
  expect([response.status, await response.json()]).toEqual([
    200,
    { length: offset + bytes.length },
  ]);
}

async function runningJob(): Promise<HubAssignJob> {
  const { body } = await hub.call("POST", "/jobs", { url: "http://shop.test/" });
  return worker.assigned.next(({ job_id }) => job_id === body.job_id);
}

const picture = (page: Page) => page.getByRole("img", { name: "Recorded screen" });

/** Waits until the picture is of this moment. */
const shown = (page: Page, ms: number) => page.locator(`canvas[data-shown="${ms}"]`).waitFor();

/** The colour of the picture at a pixel of the recorded screen. */
const colourAt = (page: Page, x: number, y: number): Promise<Colour> =>
  page.evaluate<Colour>(
    `[...document.querySelector("canvas[data-shown]").getContext("2d").getImageData(${x}, ${y}, 1, 1).data.slice(0, 3)]`,
  );

/** The colour of the first picture of the film. */
const colourOfStill = (page: Page): Promise<Colour> =>
  page.evaluate<Colour>(`(() => {
    const context = document.createElement("canvas").getContext("2d");
    context.drawImage(document.querySelector(".player-still img"), 0, 0);
    return [...context.getImageData(5, 5, 1, 1).data.slice(0, 3)];
  })()`);

test("an ended job is played: each moment has its picture, its box and its lines (rules/recordings#the-player)", async () => {
  const job = await runningJob();
  const { job_id, lease_token } = job;
  const { bytes } = madeFor("job", job_id).end(60_000).done();
  await send(`jobs/${job_id}`, lease_token, 0, bytes);
  worker.log(job, "navigate", "the page is open");
  worker.finish(job);

  await using ui = await rig.open(`/ui/captures/${job_id}?t=2`, { url: hub.url });
  const { page } = ui;
  await shown(page, 2_000);
  expect(await colourAt(page, BOX.x + 5, BOX.y + 5)).toEqual(RED);
  expect(await page.locator(".player-box").count()).toBe(0);

  // An arrow goes to the action: its box is drawn where it was clicked, the picture is the one before.
  await page.keyboard.press("ArrowRight");
  await shown(page, 4_200);
  expect(await colourAt(page, BOX.x + 5, BOX.y + 5)).toEqual(RED);
  const [outer, inner] = await Promise.all([
    picture(page).boundingBox(),
    page.locator(".player-box").boundingBox(),
  ]);
  const scale = (outer?.width ?? 0) / WIDTH;
  expect(inner?.x).toBeCloseTo((outer?.x ?? 0) + BOX.x * scale, 0);
  expect(inner?.width).toBeCloseTo(BOX.width * scale, 0);
  // The panels are of its time, until that is left.
  const whole = page.getByRole("button", { name: "Show the whole run" });
  await whole.waitFor();
  await page.getByRole("tab", { name: "Console 0" }).waitFor();
  // Before and after it.
  const pair = page.getByRole("radiogroup", { name: "Before, at or after the action" });
  await pair.getByText("After", { exact: true }).click();
  await shown(page, 5_900);
  await whole.waitFor({ state: "detached" });
  expect(await colourAt(page, BOX.x + 5, BOX.y + 5)).toEqual(GREEN);
  expect(await colourAt(page, 5, 5)).toEqual(RED);

  // A dot goes on by a tenth of a second; the address follows. A number opens a panel.
  await page.keyboard.press(".");
  await shown(page, 6_000);
  await page.waitForURL(/t=6(&|$)/);
  await page.keyboard.press("2");
  await page.getByRole("tab", { name: "Console 2", selected: true }).waitFor();
  // Tabs have a use for End themselves.
  await page.getByRole("slider", { name: "Place in the recording" }).press("End");
  await shown(page, 60_000);
  expect(await colourAt(page, BOX.x + 5, BOX.y + 5)).toEqual(BLUE);
  const list = page.getByRole("list", { name: "Console" });
  await list.getByText("buy is not a function").waitFor();
  await list.getByRole("button", { name: /prices are old/ }).click();
  await shown(page, 12_000);
  expect(await colourAt(page, BOX.x + 5, BOX.y + 5)).toEqual(GREEN);
  await ui.judge(MISSING);

  // The space bar plays, and what moves is the place.
  await page.getByRole("slider", { name: "Place in the recording" }).focus();
  await page.keyboard.press("Space");
  await page.getByRole("button", { name: "Pause" }).waitFor();
  await page.locator('[role=slider]:not([aria-valuenow="12000"])').waitFor();
  await page.keyboard.press("Space");
  await page.getByRole("button", { name: "Play", exact: true }).waitFor();
  // A press on the film strip goes there.
  const strip = await page.getByRole("slider").boundingBox();
  await page.mouse.click((strip?.x ?? 0) + (strip?.width ?? 0) * 0.75, (strip?.y ?? 0) + 10);
  await page.waitForURL("**t=45**");
  expect(await page.locator(".player-marks i[data-kind=error]").getAttribute("title")).toBe(
    "buy is not a function",
  );
});

test("a page that stands still has one picture, and it is shown and in the film (rules/recordings#the-player)", async () => {
  const job = await runningJob();
  const { job_id, lease_token } = job;
  await using ui = await rig.open("/ui/captures", { url: hub.url });
  const { page } = ui;
  const jpeg = jpegUpdate(WIDTH, HEIGHT, await plainJpeg(page, GREEN));
  const { bytes } = makeRecording(WIDTH, HEIGHT)
    .event(0, {
      ...{ type: "start", at: new Date().toISOString(), of: "job", id: job_id, mode: "screen" },
      screen: "headless",
    })
    .chunk(300, "start")
    .screen(300, jpeg)
    .end(20_000)
    .done();
  await send(`jobs/${job_id}`, lease_token, 0, bytes);
  worker.finish(job);
  await page.goto(`${hub.url}/ui/captures/${job_id}?t=10`);
  await shown(page, 10_000);
  expect(await colourAt(page, 5, 5)).toEqual(near(GREEN));
  await page.locator(".player-still img").first().waitFor();
  expect(await colourOfStill(page)).toEqual(near(GREEN));
});

test("the player's menu Export has a video made, and then offers it (rules/recordings#export-as-a-video)", async () => {
  const job = await runningJob();
  const { job_id, lease_token } = job;
  const { bytes } = madeFor("job", job_id).done();
  await send(`jobs/${job_id}`, lease_token, 0, bytes);
  await using ui = await rig.open(`/ui/captures/${job_id}?tab=recording`, { url: hub.url });
  const { page } = ui;
  const menu = page.getByRole("button", { name: "Export" });
  const video = page.getByRole("menuitem", { name: "MP4 video" });
  await menu.click();
  await video.getByText("When the run has ended").waitFor();
  await page.keyboard.press("Escape");

  const end = makeRecording(WIDTH, HEIGHT).end(41_000).done().bytes;
  await send(`jobs/${job_id}`, lease_token, bytes.length, end);
  worker.finish(job);
  await page.locator('[aria-valuemax="41000"]').waitFor();
  // With keys alone; it stays open while the video is made.
  await menu.focus();
  await page.keyboard.press("Enter");
  await video.getByText("Press to have it made").waitFor();
  await page.getByRole("menuitem", { name: "HAR" }).waitFor();
  await video.press("Enter");
  await video.getByText("Made: press to download").waitFor({ timeout: 60_000 });
  // The live screen of this worker has no bridge.
  await ui.judge(/status of (404|502)|code: 4502/);
  const href = await video.getAttribute("href");
  const answer = await fetch(new URL(href ?? "", hub.url));
  expect(answer.headers.get("content-type")).toBe("video/mp4");
  expect((await answer.arrayBuffer()).byteLength).toBeGreaterThan(1_000);
});

test("a running job is followed at its right end, and plays what was recorded until now", async () => {
  const job = await runningJob();
  const { job_id, lease_token } = job;
  const first = makeRecording(WIDTH, HEIGHT)
    .event(0, {
      ...{ type: "start", at: new Date().toISOString(), of: "job", id: job_id, mode: "screen" },
      screen: "headful",
    })
    .chunk(100, "start")
    .plain(200, RED)
    .plain(4_000, WHITE)
    .done().bytes;
  await send(`jobs/${job_id}`, lease_token, 0, first);
  await using ui = await rig.open(`/ui/captures/${job_id}?tab=recording`, { url: hub.url });
  const { page } = ui;
  await page.locator('[aria-valuetext="live"]').waitFor();
  await page.keyboard.press("Home");
  await shown(page, 0);
  expect(await colourAt(page, 5, 5)).toEqual(RED);
  await page.getByRole("button", { name: "Live" }).waitFor();

  const jpeg = jpegUpdate(WIDTH, HEIGHT, await plainJpeg(page, GREEN));
  const more = makeRecording(WIDTH, HEIGHT).screen(9_000, jpeg, 2).end(9_500).done().bytes;
  await send(`jobs/${job_id}`, lease_token, first.length, more);
  await page.locator('[aria-valuemax="9500"]').waitFor();
  worker.finish(job);
  // It ends, and stays where it is.
  await page.getByText("It has ended while you watched.").waitFor();
  await page.getByRole("button", { name: "Live" }).waitFor({ state: "detached" });
  await shown(page, 0);
  await page.goto(`${hub.url}/ui/captures/${job_id}?t=5`);
  await shown(page, 5_000);
  expect(await colourAt(page, 5, 5)).toEqual(WHITE);
  await page.keyboard.press("End");
  await shown(page, 9_500);
  expect(await colourAt(page, 5, 5)).toEqual(near(GREEN));
});

test("a session that has ended is played on its page, and one that was not recorded says so", async () => {
  const open = async () => {
    const { body } = await hub.call("POST", "/sessions", { url: "http://shop.test/" });
    return worker.opening.next(({ session_id }) => session_id === body.session_id);
  };
  const [kept, lost] = [await open(), await open()];
  const { session_id, lease_token } = kept;
  const { bytes } = madeFor("session", session_id).end(60_000).done();
  await send(`sessions/${session_id}`, lease_token, 0, bytes);
  for (const session of [kept, lost]) await hub.call("DELETE", `/sessions/${session.session_id}`);

  await using ui = await rig.open(`/ui/browsers/${session_id}?t=35`, { url: hub.url });
  const { page } = ui;
  await shown(page, 35_000);
  expect(await colourAt(page, 5, 5)).toEqual(BLUE);
  await page.getByRole("list", { name: "Actions" }).getByText("Click #buy").waitFor();
  await ui.judge(MISSING);
  await page.goto(`${hub.url}/ui/browsers/${lost.session_id}`);
  await page.getByRole("heading", { name: "Nothing was recorded" }).waitFor();
});

test("an open session's requests appear as they are noted, and each leads to its moment", async () => {
  const { body } = await hub.call("POST", "/sessions", { url: "http://shop.test/" });
  const { session_id, lease_token } = await worker.opening.next(
    (each) => each.session_id === body.session_id,
  );
  const har = (path: string, status: number, more: object = {}) => {
    const entry = madeEntry(`http://shop.test${path}`, { _resourceType: "fetch", ...more });
    return { ...entry, response: { ...entry.response, status } };
  };
  const first = madeFor("session", session_id)
    .request(40_000, { n: 1, at_ms: 4_000, har: har("/cart", 200) })
    .request(40_000, { n: 2, at_ms: 20_000, har: har("/stream", 0, { _unfinished: true }) })
    .request(40_100, { n: 3, at_ms: 38_000, har: har("/late", 500) })
    .done().bytes;
  const path = `sessions/${session_id}`;
  await send(path, lease_token, 0, first);
  await using ui = await rig.open(`/ui/browsers/${session_id}?t=35`, { url: hub.url });
  const { page } = ui;
  await shown(page, 35_000);
  await page.getByRole("tab", { name: "Requests 3" }).click();
  const rows = page.getByRole("list", { name: "Requests" }).getByRole("listitem");
  await rows.nth(1).getByText("open").waitFor();
  // What began later than the moment is paler.
  expect(await rows.count()).toBe(3);
  expect(await page.locator(".player-row[data-later]").count()).toBe(1);
  const more = makeRecording(WIDTH, HEIGHT)
    .request(41_000, { n: 2, at_ms: 20_000, har: har("/stream", 204) })
    .request(41_000, { n: 4, at_ms: 30_000, har: har("/prices", 404) })
    .done().bytes;
  await send(path, lease_token, first.length, more);
  await rows.nth(1).getByText("204").waitFor();
  await rows.nth(2).getByText("404").waitFor();
  await rows.nth(0).getByRole("button").click();
  await shown(page, 4_000);
  const one = page.getByRole("region", { name: "Request", exact: true });
  await one.getByText("http://shop.test/cart").waitFor();
});
