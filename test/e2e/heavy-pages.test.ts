import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Asset } from "#shared/protocol/schema/asset.ts";
import { Har } from "#test/support/clients/har.ts";
import { type FleetProcesses, startFleet } from "#test/support/rigs/fleet-process.ts";
import { seededBmp, seededBytes, sha256, utf8 } from "#test/support/servers/site/bytes.ts";
import { type SiteServer, startServer } from "#test/support/servers/site/server.ts";

/**
 * Pages that keep a browser busy with what is harmless: their job completes with every body and request, with page.html,
 * and without a warning (rules/capture#capture-report, rules/capture#saved-page).
 */

const SLOW_MS = 300_000;
/** Of a busy machine: how fast it is is not judged. */
const PATIENT = { max_wait_seconds: 240 };
/** `HEAVY_PAGES=500` in the long form of the suite: frames, and four times as many pictures. */
const FRAMES = Number(Bun.env.HEAVY_PAGES ?? 100);
const PICTURES = 4 * FRAMES;
const MB = 2 ** 20;
const LARGE_MB = 64;

let site: SiteServer;
let fleet: FleetProcesses;
beforeAll(async () => {
  [site, fleet] = await Promise.all([startServer("127.0.0.1"), startFleet({ lanes: 1 })]);
  await fleet.lanesWarm();
}, SLOW_MS);
afterAll(async () => {
  expect(await fleet.stop()).toEqual([]);
  await site.stop();
}, SLOW_MS);

const each = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));

const html = (title: string, body: string) => ({
  mime: "text/html",
  bytes: utf8(
    `<!doctype html><title>${title}</title><link rel=icon href="data:,"><body>${body}</body>`,
  ),
});

const fileOf = async (job_id: string, name: string) => {
  const answer = await fetch(`${fleet.url}/jobs/${job_id}/${name}`);
  expect(answer.status).toBe(200);
  return answer;
};

/** Runs a job on `path`, and forgets what the site expected of it: whole bodies as assets, and requests in the HAR. */
async function judged(path: string) {
  const expected = site.expected.splice(0);
  const started = await fleet.submit(site.origin + path, PATIENT);
  const job = await fleet.finished(started.job_id, SLOW_MS);
  const log = await (await fileOf(job.job_id, "log.txt")).text();
  expect({ job, log }).toMatchObject({
    job: {
      status: "completed",
      error: null,
      capture: { partial: 0, lost: 0, late: 0, unanswered: 0, page: "page.html", warnings: [] },
    },
  });
  // Chromium asks for the icon of a document that names none when it likes.
  const isOfPage = (url: string) => !url.endsWith("/favicon.ico");
  const { items } = (await (await fileOf(job.job_id, "assets.json")).json()) as { items: Asset[] };
  const assets = items.filter(({ source_url }) => isOfPage(source_url));
  const got = assets.map(({ source_url, sha256, size }) => `${source_url} ${sha256} ${size}`);
  const wanted = expected.map(({ url, sha256, size }) => `${url} ${sha256} ${size}`);
  expect(got.toSorted()).toEqual(wanted.toSorted());
  const har = Har.parse(await (await fileOf(job.job_id, "har.json")).json());
  const asked = har.log.entries.map(({ request }) => request.url).filter(isOfPage);
  expect(asked.toSorted()).toEqual(expected.map(({ url }) => url).toSorted());
  const page = await (await fileOf(job.job_id, "page.html")).text();
  return { job, page, assets };
}

test(
  `a page of ${FRAMES} frames is whole, and is not too busy to be saved`,
  async () => {
    for (const i of each(FRAMES, (n) => n)) site.body(`/frame/${i}`, html("frame", `<p>${i}</p>`));
    const frames = each(FRAMES, (i) => `<iframe src="/frame/${i}"></iframe>`);
    site.body("/frames", html("Frames", frames.join("")));
    const { job, page } = await judged("/frames");
    expect(job.title).toBe("Frames");
    expect(page.match(/<iframe /g)).toHaveLength(FRAMES);
  },
  SLOW_MS,
);

test(
  `an SVG document of ${PICTURES} pictures is whole, and is saved as a page`,
  async () => {
    for (const i of each(PICTURES, (n) => n))
      site.body(`/picture/${i}.bmp`, { mime: "image/bmp", bytes: seededBmp(i + 1, 1_600) });
    const pictures = each(
      PICTURES,
      (i) => `<image href="/picture/${i}.bmp" x="${i % 50}" y="${i / 50}" width="9" height="9"/>`,
    );
    const svg = `<svg xmlns="http://www.w3.org/2000/svg"><title>Drawing</title>${pictures.join("")}</svg>`;
    site.body("/drawing.svg", { mime: "image/svg+xml", bytes: utf8(svg) });
    const { job, page } = await judged("/drawing.svg");
    expect(job.title).toBe("Drawing");
    expect(page.match(/<image /g)).toHaveLength(PICTURES);
  },
  SLOW_MS,
);

test(
  `a page that fetches ${LARGE_MB} MB while it is asked for signs of life has them whole`,
  async () => {
    const bytes = seededBytes(16, LARGE_MB * MB);
    site.expect("/large.bin", bytes);
    site.on("/large.bin", async (_req, res) => {
      const length = { "content-length": String(bytes.length) };
      res.writeHead(200, { "content-type": "application/octet-stream", ...length });
      res.write(bytes.subarray(0, bytes.length / 2));
      // From its load on, a page is asked as long as its network is not silent.
      await site.asked("/loaded");
      res.end(bytes.subarray(bytes.length / 2));
    });
    site.body("/loaded", { mime: "text/plain", bytes: utf8("loaded") });
    const script = `
      fetch("/large.bin").then((r) => r.arrayBuffer()).then((b) => { document.title = b.byteLength; });
      onload = () => fetch("/loaded").then((r) => r.text());`;
    site.body("/large", html("Large", `<script>${script}</script>`));
    const { job, assets } = await judged("/large");
    expect(job.title).toBe(String(bytes.length));
    const large = assets.find(({ source_url }) => source_url.endsWith("/large.bin"));
    const stored = await fileOf(job.job_id, `assets/${large?.name}`);
    expect(sha256(await stored.bytes())).toBe(sha256(bytes));
  },
  SLOW_MS,
);
