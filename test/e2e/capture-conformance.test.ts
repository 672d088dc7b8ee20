import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type JobLane, openJobLane } from "#test/support/rigs/lane-jobs.ts";
import { type Site, startSite } from "#test/support/servers/site/site.ts";

/** `CAPTURE_RUNS=10` repeats each mode ten times. */
const RUNS = Number(Bun.env.CAPTURE_RUNS ?? 1);
const RUN_MS = 300_000;

let site: Site;
let lane: JobLane;
beforeAll(async () => {
  [site, lane] = await Promise.all([startSite(), openJobLane()]);
}, 180_000);
afterAll(async () => {
  await lane.close();
  await site.stop();
});

const rounds: { headless: boolean; round: number | string }[] = [true, false].flatMap((headless) =>
  Array.from({ length: RUNS }, (_, i) => ({ headless, round: i + 1 })),
);
/** The page is opened by a step, so that Playwright is connected all the while. */
const BY_RECIPE = "by a recipe";
rounds.push({ headless: true, round: BY_RECIPE });

/** What was captured, for every test that looks at it. */
const visits: ReturnType<JobLane["run"]>[] = [];

describe("the conformance page", () => {
  test.each(rounds)(
    "every network body is captured byte for byte, media joined (headless $headless, run $round)",
    async ({ headless, round }) => {
      const visit = lane.run({
        url: round === BY_RECIPE ? `${site.origins.third}/not-here` : site.url,
        headless,
        // A busy machine may need longer than a minute for it, and stop the page for seconds.
        options: { idle_seconds: 10, max_wait_seconds: 240 },
        extras:
          round === BY_RECIPE
            ? { recipe: { actions: [{ kind: "navigate", url: site.url }], timeout_s: 60 } }
            : {},
      });
      visits.push(visit);
      const { outcome, assets, documents, log } = await visit;
      const identity = (body: { sha256: string }, url: string) => `${url} ${body.sha256}`;
      const whole = assets.filter((a) => !a.partial);
      const held = new Set(whole.map((a) => identity(a, a.source_url)));
      const missing = site.expected.filter((e) => !held.has(identity(e, e.url)));
      expect({ missing, log: missing.length > 0 ? log : [] }).toEqual({ missing: [], log: [] });

      // Nothing is whole that is not: a whole asset of a known URL has the bytes of that URL.
      const known = new Map(site.expected.map((e) => [e.url, e]));
      const wrong = whole.filter(
        (a) => known.has(a.source_url) && known.get(a.source_url)?.sha256 !== a.sha256,
      );
      expect(wrong).toEqual([]);
      expect(assets.filter((a) => a.partial)).toEqual([]);
      expect(outcome).toMatchObject({ status: "completed", error: null, http_status: 200 });
      expect(outcome.capture).toMatchObject({ lost: 0, partial: 0, ratio: 1, method: "durable" });
      expect(outcome.capture?.captured).toBe(assets.length);
      expect(new Set(assets.map((a) => a.name)).size).toBe(assets.length);

      expect(outcome.final_url).toBe(`${site.origins.cross}/last.html`);
      expect(documents.get("page.html")).toStartWith("<!DOCTYPE html>\n<html>");
      expect(JSON.parse(documents.get("links.json") ?? "")).toEqual({
        job_id: "job1",
        count: 1,
        links: [
          {
            url: `${site.origins.cross}/after`,
            text: "the end",
            rel: "nofollow",
            page_url: `${site.origins.cross}/last.html`,
          },
        ],
      });
    },
    RUN_MS,
  );

  test(
    "assets say where they came from (rules/capture#assets)",
    async () => {
      // Whichever was made; one of its own when this test runs alone.
      const visit = visits[0] ?? lane.run({ url: site.url, options: { idle_seconds: 4 } });
      const { assets } = await visit;
      const { main, cross, third } = site.origins;
      const find = (url: string) => assets.find((a) => a.source_url === url);
      expect(find(`${main}/video.mp4`)).toMatchObject({
        kind: "video",
        mime: "video/mp4",
        ext: "mp4",
      });
      expect(find(`${main}/sound.ogg`)).toMatchObject({ kind: "audio" });
      expect(find(`${main}/image-1.bmp`)).toMatchObject({
        kind: "image",
        name: "image-1.bmp",
        page_url: `${main}/`,
        status: 200,
        from_cache: false,
      });
      expect(find(`${main}/`)).toMatchObject({
        kind: "other",
        mime: "text/html",
        name: "index.html",
      });
      // A frame's document asks for what the frame shows, a worker's owner for what the worker loads.
      const of = (frame_url: string) => ({ page_url: `${main}/`, frame_url });
      expect(find(`${main}/image-1.bmp`)).toMatchObject(of(`${main}/`));
      expect(find(`${main}/frame.bmp`)).toMatchObject(of(`${main}/frame.html`));
      expect(find(`${cross}/frame.bmp`)).toMatchObject(of(`${cross}/frame.html`));
      expect(find(`${cross}/worker.bin`)).toMatchObject(of(`${cross}/frame.html`));
      expect(find(`${main}/worker.bin`)).toMatchObject(of(`${main}/`));
      expect(find(`${third}/nested.bmp`)).toMatchObject(of(`${third}/nested.html`));
      expect(find(`${third}/nested.html`)).toMatchObject(of(`${third}/nested.html`));
      expect(find(`${third}/popup.bmp`)).toMatchObject({ page_url: `${third}/popup.html` });
      expect(find(`${main}/sw/made-up.json`)).toMatchObject({ from_service_worker: true });
      expect(find(`${main}/download.bin`)).toMatchObject({ name: "report 2026.bin" });
    },
    RUN_MS,
  );
});
