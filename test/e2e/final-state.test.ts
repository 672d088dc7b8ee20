import { afterAll, beforeAll, expect, test } from "bun:test";
import type { DocumentName } from "#shared/protocol/schema/asset.ts";
import type { FetchRequest, FetchResult } from "#test/support/rigs/fetch-rig.ts";
import { type JobLane, openJobLane } from "#test/support/rigs/lane-jobs.ts";
import { seededBmp, utf8 } from "#test/support/servers/site/bytes.ts";
import { type SiteServer, startServer } from "#test/support/servers/site/server.ts";

const SLOW_MS = 180_000;
/** Pictures of a page that answers take as long as a busy machine needs. */
const PATIENT = { picture_ms: { first: 60_000, whole: 60_000 } };

let site: SiteServer;
let lane: JobLane;
const asked: string[] = [];
beforeAll(async () => {
  [site, lane] = await Promise.all([startServer("127.0.0.1"), openJobLane()]);
  for (const path of ["/icon.bmp", "/favicon.ico", "/seen.bmp", "/resized.bmp"])
    site.on(path, (_req, res) => {
      asked.push(path);
      res.writeHead(200, { "content-type": "image/bmp" }).end(seededBmp(3, 4_000));
    });
}, SLOW_MS);
afterAll(async () => {
  await lane.close();
  await site.stop();
});

function page(path: string, html: string, head = ""): string {
  const bytes = utf8(`<!doctype html><title>page</title>${head}<body style="margin:0">${html}`);
  site.body(path, { mime: "text/html", bytes, extra: true });
  return site.origin + path;
}

const run = (request: FetchRequest & { headless?: boolean }): Promise<FetchResult> =>
  lane.run({
    extras: { final_state: true },
    settings: PATIENT,
    ...request,
    options: { idle_seconds: 0.3, ...request.options },
  });

/** Chromium's own opinion of a picture: its size, and the colour of its first and of its last pixel. */
async function decoded({ pictures }: FetchResult, name: DocumentName, mime: string) {
  const bytes = pictures.get(name);
  if (!bytes) throw new Error(`no ${name}`);
  site.body(`/stored/${name}`, { mime, bytes, extra: true });
  const script = `
    onload = () => {
      const draw = new OffscreenCanvas(1, 1).getContext("2d");
      const at = (x, y) => {
        draw.drawImage(picture, x, y, 1, 1, 0, 0, 1, 1);
        return [...draw.getImageData(0, 0, 1, 1).data].slice(0, 3).join(" ");
      };
      const { naturalWidth: width, naturalHeight: height } = picture;
      document.title = [width, height, at(0, 0), at(width - 1, height - 1)].join(" | ");
    };`;
  const html = `<img id="picture" src="/stored/${name}"><script>${script}</script>`;
  const { outcome } = await lane.run({
    url: page(`/look-at-${name}`, html),
    options: { idle_seconds: 0.3 },
  });
  const [width, height, first, last] = (outcome.title ?? "").split(" | ");
  return { width: Number(width), height: Number(height), first, last };
}

const ICON = '<link rel="icon" href="/icon.bmp">';
const TALL =
  '<div style="height:10000px;background:rgb(255,0,0)"></div>' +
  '<div style="height:10000px;background:rgb(0,0,255)"></div>';

test.each([true, false])(
  "a page of 20,000 pixels has a screenshot within its bounds, a thumbnail and its icon (headless: %p; rules/documents#final-state)",
  async (headless) => {
    const result = await run({ url: page(`/tall-${headless}`, TALL, ICON), headless });
    const { outcome, pictures, assets } = result;
    expect(outcome.final_state).toEqual({
      screenshot: true,
      thumbnail: true,
      favicon: "icon.bmp",
    });
    expect(assets.map(({ name }) => name)).toContain("icon.bmp");
    const shot = await decoded(result, "screenshot.png", "image/png");
    expect(shot.width * shot.height).toBeLessThan(8_100_000);
    // 16,000 of its pixels: the upper part is red, and the last one blue.
    expect(shot.height / shot.width).toBeGreaterThan(7.5);
    expect(shot).toMatchObject({ first: "255 0 0", last: "0 0 255" });
    const small = await decoded(result, "thumbnail.webp", "image/webp");
    expect(small.width).toBe(320);
    expect(small.height).toBeLessThan(320);
    expect(pictures.get("thumbnail.webp")?.length).toBeLessThan(20_000);
    expect(new TextDecoder().decode(pictures.get("thumbnail.webp")?.slice(8, 12))).toBe("WEBP");
  },
  SLOW_MS,
);

test(
  "nothing is requested because the whole page is drawn at once (rules/documents#final-state)",
  async () => {
    const html = `<p style="height:9000px"></p><img loading="lazy" src="/seen.bmp"><script>
      addEventListener("resize", () => fetch("/resized.bmp"));
    </script>`;
    asked.length = 0;
    const { outcome, log } = await run({ url: page("/lazy", html) });
    expect(outcome.final_state).toMatchObject({ screenshot: true, favicon: "favicon.ico" });
    expect({ asked, log }).toMatchObject({ asked: ["/favicon.ico"] });
    expect(outcome.capture).toMatchObject({ late: 0, lost: 0 });
  },
  SLOW_MS,
);

test(
  "a failed job shows the page on which it failed (rules/documents#final-state)",
  async () => {
    const recipe = {
      actions: [{ kind: "click", selector: "#missing" }],
      timeout_s: 2,
    };
    const { outcome, pictures } = await run({
      url: page("/failing", "<h1>Not what was expected</h1>"),
      extras: { final_state: true, recipe } as FetchRequest["extras"],
    });
    expect(outcome).toMatchObject({
      status: "failed",
      title: "page",
      final_state: { screenshot: true, thumbnail: true },
    });
    expect([...pictures.keys()].sort()).toEqual(["screenshot.png", "thumbnail.webp"]);
  },
  SLOW_MS,
);

test(
  "a page that was never answered has no pictures, and does not keep its job (rules/documents#final-state)",
  async () => {
    site.on("/silent", () => {});
    const { outcome, pictures } = await run({
      url: `${site.origin}/silent`,
      options: { wait_seconds: 1 },
    });
    expect(outcome).toMatchObject({ status: "failed" });
    expect([...pictures.keys()]).toEqual([]);
  },
  SLOW_MS,
);

test(
  "a page that is busy in a loop ends the pictures in time, and its job completes (rules/documents#final-state)",
  async () => {
    const { outcome, log } = await run({
      url: page("/busy", `<h1>busy</h1><script>onoffline = () => { for (;;); };</script>`),
      settings: { picture_ms: { first: 10_000, whole: 2_000 } },
    });
    expect(outcome).toMatchObject({ status: "completed", title: "page" });
    expect(outcome.final_state).toMatchObject({ screenshot: false });
    expect(log.find((line) => line.includes("did not answer in time"))).toBeDefined();
  },
  SLOW_MS,
);

test(
  "a job with final_state false, or of a hub that does not ask, has no pictures (rules/documents#final-state)",
  async () => {
    const { outcome, pictures } = await run({ url: page("/off", "<h1>off</h1>"), extras: {} });
    expect(outcome.status).toBe("completed");
    expect(outcome.final_state).toBeUndefined();
    expect([...pictures.keys()]).toEqual([]);
  },
  SLOW_MS,
);
