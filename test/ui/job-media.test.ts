import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import type { Asset } from "#shared/protocol/schema/asset.ts";
import type { Job } from "#shared/protocol/schema/job.ts";
import { until } from "#test/support/rigs/fleet-process.ts";
import { type UiRig, uiRig } from "#test/support/rigs/ui-rig.ts";
import { makeStreams, VIDEO_SECONDS } from "#test/support/servers/site/videos.ts";

/** Films and sounds that a job captured are played in its page (rules/documents#asset-body). */

setDefaultTimeout(180_000);

const RATE = 44_100;
const TONE_SECONDS = 120;

/** One channel of 8 bits: 5 MB, more than a player reads ahead. */
function makeTone(): Uint8Array<ArrayBuffer> {
  const head = Buffer.alloc(44);
  const samples = RATE * TONE_SECONDS;
  head.write("RIFF", 0);
  head.writeUInt32LE(36 + samples, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(RATE, 24);
  head.writeUInt32LE(RATE, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write("data", 36);
  head.writeUInt32LE(samples, 40);
  const tone = new Uint8Array(44 + samples);
  tone.set(head);
  for (let i = 0; i < samples; i++) tone[44 + i] = 128 + (i % 100);
  return tone;
}

let rig: UiRig;
let site: ReturnType<typeof Bun.serve>;
let job: Job;

beforeAll(async () => {
  const film = new Uint8Array((await makeStreams()).get("plain.mp4") ?? []);
  const tone = makeTone();
  const page = `<!doctype html><title>Films</title><video src="/film.mp4" preload="auto" muted></video>
<script>fetch("/tone.wav").then((r) => r.arrayBuffer())</script>`;
  site = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const { pathname } = new URL(request.url);
      const answer = (body: string | Uint8Array<ArrayBuffer>, type: string) =>
        new Response(body, { headers: { "content-type": type } });
      if (pathname === "/film.mp4") return answer(film, "video/mp4");
      return pathname === "/tone.wav" ? answer(tone, "audio/wav") : answer(page, "text/html");
    },
  });
  rig = await uiRig();
  const { job_id } = await rig.api<Job>("POST", "/jobs", {
    url: site.url.href,
    options: { idle_seconds: 0.3 },
  });
  job = await until("the end of the job", 150_000, async () => {
    const now = await rig.api<Job>("GET", `/jobs/${job_id}`);
    return now.finished_at === null ? undefined : now;
  });
}, 240_000);
afterAll(() => site?.stop(true));

/** Properties of the player that is shown. */
const player = (page: Page, tag: "video" | "audio") => ({
  read: (name: string) =>
    page.evaluate<number>(`document.querySelector("[role=dialog] ${tag}")?.${name} ?? 0`),
  seek: (seconds: number) =>
    page.evaluate(`new Promise((resolve) => {
      const player = document.querySelector("[role=dialog] ${tag}");
      player.addEventListener("seeked", resolve, { once: true });
      player.currentTime = ${seconds};
    })`),
});

const HAVE_METADATA = 1;
const HAVE_CURRENT_DATA = 2;

test("a captured film and a captured sound are loaded by their players, and sought by ranges (rules/documents#asset-body)", async () => {
  const { items } = await rig.api<{ items: Asset[] }>("GET", `/jobs/${job.job_id}/assets.json`);
  const named = (kind: Asset["kind"]) => items.find((one) => one.kind === kind)?.name ?? "";
  await using ui = await rig.open(
    `/ui/captures/${job.job_id}?tab=assets&asset=${encodeURIComponent(named("video"))}`,
  );
  const { page } = ui;
  const ranges: string[] = [];
  page.on("response", (response) => {
    if (response.status() === 206) ranges.push(response.headers()["content-range"] ?? "");
  });

  const film = player(page, "video");
  await until("the film", 60_000, async () => (await film.read("readyState")) >= HAVE_METADATA);
  expect(await film.read("duration")).toBeCloseTo(VIDEO_SECONDS, 0);
  expect(await film.read("videoHeight")).toBe(180);
  await film.seek(VIDEO_SECONDS - 1);
  expect(await film.read("currentTime")).toBeCloseTo(VIDEO_SECONDS - 1, 1);
  expect(await film.read("readyState")).toBeGreaterThanOrEqual(HAVE_CURRENT_DATA);
  await ui.judge();

  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: named("audio") }).click();
  const tone = player(page, "audio");
  await until("the sound", 60_000, async () => (await tone.read("readyState")) >= HAVE_METADATA);
  expect(await tone.read("duration")).toBeCloseTo(TONE_SECONDS, 0);
  await tone.seek(TONE_SECONDS - 10);
  expect(await tone.read("currentTime")).toBeCloseTo(TONE_SECONDS - 10, 1);
  // Not all that lies before was read.
  const size = 44 + RATE * TONE_SECONDS;
  expect(
    ranges.some((text) => {
      const [, from = "0", all] = /^bytes (\d+)-\d+\/(\d+)$/.exec(text) ?? [];
      return Number(all) === size && Number(from) > size / 2;
    }),
  ).toBe(true);
  expect(ui.complaints()).toEqual([]);
});
