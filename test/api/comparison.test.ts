import { afterAll, beforeAll, expect, test } from "bun:test";
import { runClientCommand } from "#hub/program/cli/run-command.ts";
import { createClient } from "#shared/client/index.ts";
import { COMPARISON_LIMITS } from "#shared/protocol/limits.ts";
import type { HubAssignJob } from "#shared/protocol/link/messages.ts";
import type { FakeWorker } from "#test/support/fakes/fake-worker.ts";
import { painted } from "#test/support/models/made-png.ts";
import { startTestHub, TARGET, type TestHub } from "#test/support/rigs/hub.ts";

let hub: TestHub;
let worker: FakeWorker;
beforeAll(async () => {
  hub = await startTestHub();
  worker = await hub.worker({ lanes: 20 });
});
afterAll(() => hub.close());

const start = async (): Promise<HubAssignJob> => {
  const { job_id } = (await hub.call("POST", "/jobs", { url: TARGET })).body;
  return worker.assigned.next((job) => job.job_id === job_id);
};

interface Captured {
  title?: string;
  page?: string;
  picture?: Uint8Array;
  /** Bodies by URL. */
  bodies?: Record<string, string>;
}

/** A job that ended with what is given; its id. */
async function completed({
  title = "Shop",
  page,
  picture,
  bodies = {},
}: Captured): Promise<string> {
  const job = await start();
  for (const [n, [source_url, body]] of Object.entries(bodies).entries())
    await worker.putAsset(job, body, { name: `a${n}.txt`, mime: "text/plain", source_url });
  if (page !== undefined) await worker.putDocument(job, "page.html", page);
  if (picture) await worker.putDocument(job, "screenshot.png", picture);
  worker.finish(job, { title, final_url: TARGET });
  await hub.signals.next("job finished", { job_id: job.job_id });
  return job.job_id;
}

const diff = (a: string, b: string) => hub.call("GET", `/jobs/${a}/diff/${b}`);

async function command(words: string[], flags: Record<string, string[]> = {}) {
  let out = "";
  let err = "";
  const terminal = {
    width: null,
    live: false,
    liveWidth: 80,
    out: (text: string) => {
      out += text;
    },
    err: (text: string) => {
      err += text;
    },
  };
  const { signal } = new AbortController();
  const all = { hub: [hub.url], ...flags };
  const code = await runClientCommand("diff", words, all, {}, terminal, signal);
  return { code, out, err };
}

const BEFORE: Captured = {
  page: "<title>Shop</title><h1>Lamp</h1><p>12 €</p><p>In stock</p>",
  bodies: {
    "http://site.test/app.js": "v1",
    "http://site.test/style.css": "same",
    "http://site.test/old.png": "old",
    "http://site.test/pixel?_=1": "pixel",
  },
};
const AFTER: Captured = {
  title: "Shop\u001b[31m",
  page: "<title>Shop!</title><h1>Lamp</h1><p>14 €</p><p>In stock</p>",
  bodies: {
    "http://site.test/app.js": "v2.0",
    "http://site.test/style.css": "same",
    "http://site.test/new.png": "new",
    "http://site.test/pixel?_=2": "pixel",
  },
};

test("GET /jobs/{id}/diff/{other} says what changed from one job to the other (rules/comparison#compare-two-jobs)", async () => {
  const before = await completed(BEFORE);
  const after = await completed(AFTER);
  const { status, body } = await diff(before, after);
  expect(status).toBe(200);
  expect(body.before).toMatchObject({ job_id: before, url: TARGET });
  expect(body.after).toMatchObject({ job_id: after, finished_at: expect.any(String) });
  // rules/comparison#page
  expect(body.page.title).toEqual({ changed: true, before: "Shop", after: AFTER.title });
  expect(body.page.final_url).toEqual({ changed: false, before: TARGET, after: TARGET });
  // rules/comparison#text
  expect(body.page.text).toMatchObject({ changed: true, lines_gone: 1, lines_new: 1 });
  expect(body.page.text.hunks).toEqual([
    {
      before_start: 1,
      before_lines: 3,
      after_start: 1,
      after_lines: 3,
      lines: [" Lamp", "-12 €", "+14 €", " In stock"],
    },
  ]);
  // rules/comparison#assets
  expect(body.assets.counts).toEqual({ new: 1, gone: 1, changed: 1, unchanged: 2 });
  expect(body.assets.new[0]).toMatchObject({ url: "http://site.test/new.png", size: 3 });
  expect(body.assets.gone[0]).toMatchObject({ url: "http://site.test/old.png" });
  const [changed] = body.assets.changed;
  expect(changed).toMatchObject({ match: "exact", differs: ["body", "size"] });
  expect((await hub.call("GET", changed.before.href)).text).toBe("v1");
  expect((await hub.call("GET", changed.after.href)).text).toBe("v2.0");
  expect(await createClient({ base_url: hub.url }).jobs.compare(before, after)).toEqual(body);
});

const plain = (height: number, x = -1) =>
  painted(60, height, (at) => (at === x ? [200, 0, 0] : [255, 255, 255]));

test("the pictures of both jobs are compared (rules/comparison#picture)", async () => {
  const before = await completed({ picture: plain(40) });
  const after = await completed({ picture: plain(50, 7) });
  const { picture, picture_missing } = (await diff(before, after)).body.page;
  expect(picture_missing).toBeNull();
  expect(picture).toEqual({
    ratio: (40 + 10 * 60) / (50 * 60),
    before: { href: `/jobs/${before}/screenshot.png`, width: 60, height: 40 },
    after: { href: `/jobs/${after}/screenshot.png`, width: 60, height: 50 },
    boxes: [
      { x: 7, y: 0, width: 1, height: 40 },
      { x: 0, y: 40, width: 60, height: 10 },
    ],
  });
  expect((await hub.call("GET", picture.after.href)).status).toBe(200);
  expect((await diff(after, after)).body.page.picture).toMatchObject({ ratio: 0, boxes: [] });
  // rules/comparison#on-the-command-line
  expect((await command([before, after])).out).toContain("picture: 21.33 % differs, in 2 places\n");
});

test("a picture that is missing or cannot be compared says why, and the rest is compared (rules/comparison#picture)", async () => {
  const good = await completed({ picture: plain(40) });
  const bare = await completed({});
  const hostile = await completed({ picture: Buffer.from("<script>no picture</script>") });
  for (const [a, b, why] of [
    [good, bare, `job ${bare} has no picture`],
    [bare, good, `job ${bare} has no picture`],
    [good, hostile, `the picture of job ${hostile} is not a PNG file`],
  ] as const)
    expect(await diff(a, b)).toMatchObject({
      status: 200,
      body: { page: { picture: null, picture_missing: why, title: { changed: false } } },
    });
});

test("a job has not changed against itself, and without a page there is no text (rules/comparison#compare-two-jobs)", async () => {
  const id = await completed(BEFORE);
  const same = (await diff(id, id)).body;
  expect(same.page.text).toMatchObject({ changed: false, hunks: [] });
  expect(same.assets.counts).toEqual({ new: 0, gone: 0, changed: 0, unchanged: 4 });
  const bare = await completed({});
  expect((await diff(id, bare)).body.page.text).toBeNull();
});

test("a job that has not completed is 409, an unknown one 404 (rules/comparison#compare-two-jobs)", async () => {
  const id = await completed({});
  const job = await start();
  expect(await diff(id, job.job_id)).toMatchObject({
    status: 409,
    body: { detail: `job ${job.job_id} is running: only completed jobs can be compared` },
  });
  for (const [a, b] of [
    [id, "nobody"],
    ["..%2Fx", id],
  ] as const)
    expect(await diff(a, b)).toMatchObject({ status: 404, body: { detail: "job not found" } });
});

test("a page is read up to its limit (rules/comparison#limits)", async () => {
  const rest = "x".repeat(COMPARISON_LIMITS.html_bytes);
  const id = await completed({ page: `<p>first</p><!--${rest}--><p>last</p>` });
  const other = await completed({ page: "<p>first</p>" });
  expect((await diff(id, other)).body.page.text).toMatchObject({ changed: false, text_cut: true });
});

test("flotilla diff prints the comparison, and steers no terminal (rules/comparison#on-the-command-line)", async () => {
  const before = await completed(BEFORE);
  const after = await completed(AFTER);
  expect(await command([before, after])).toEqual({
    code: 0,
    err: "",
    out: [
      "title: Shop → Shop?[31m",
      "text lines: 1 gone, 1 new",
      "@@ -1,3 +1,3 @@",
      " Lamp",
      "-12 €",
      "+14 €",
      " In stock",
      `picture: not compared, because job ${before} has no picture`,
      "assets: 1 new, 1 gone, 1 changed, 2 unchanged",
      "+ http://site.test/new.png (text/plain, 3 B)",
      "- http://site.test/old.png (text/plain, 3 B)",
      "~ http://site.test/app.js (body, size 2 B → 4 B)\n",
    ].join("\n"),
  });
  const json = await command([before, after], { json: ["1"] });
  expect(JSON.parse(json.out)).toEqual((await diff(before, after)).body);
  expect(await command([before, "nobody"])).toMatchObject({
    code: 1,
    err: "flotilla: job not found\ntry: flotilla jobs\n",
  });
});
