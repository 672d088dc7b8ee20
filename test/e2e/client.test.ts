import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Client, createClient } from "flotilla";
import { startFleet } from "#test/support/rigs/fleet-process.ts";
import { type SiteServer, startServer } from "#test/support/servers/site/server.ts";
import { startVideoSite, type VideoSite } from "#test/support/servers/site/videos.ts";

/** The client of the repository against a hub and a worker as processes, with a real Chromium. */

const SLOW_MS = 180_000;

let fleet: Awaited<ReturnType<typeof startFleet>>;
let site: SiteServer;
let videos: VideoSite;
let client: Client;
beforeAll(async () => {
  [fleet, site, videos] = await Promise.all([
    startFleet({ lanes: 1 }),
    startServer("127.0.0.1"),
    startVideoSite(),
  ]);
  await fleet.lanesWarm(60_000);
  client = createClient({ base_url: fleet.url });
  site.on("/form", (_req, res) => {
    res.writeHead(200, { "content-type": "text/html" });
    res.end(`<title>Form</title><style>body { background: rgb(0, 128, 0) }</style>
      <input id="name"><button onclick="document.title = 'Hello ' + document.getElementById('name').value">Go</button>`);
  });
}, SLOW_MS);
afterAll(async () => {
  await fleet.stop();
  await Promise.all([site.stop(), videos.stop()]);
}, 180_000);

test(
  "a running job's page is captured as a picture that becomes an asset of the job; without a lane it is 409 (rules/documents#screenshot-of-a-running-job)",
  async () => {
    const { jobs } = client;
    // Until it is cancelled.
    const options = { settle_seconds: 600, max_wait_seconds: 600 };
    const { job_id } = await jobs.submit({ url: `${site.origin}/form`, options });
    for await (const { data } of jobs.events(job_id)) if (data.stage === "settle") break;
    const asset = await jobs.screenshot(job_id, { format: "png" });
    expect(asset).toMatchObject({
      kind: "image",
      mime: "image/png",
      page_url: `${site.origin}/form`,
    });
    const bytes = new Uint8Array(await (await jobs.download(job_id, asset.name)).arrayBuffer());
    expect([...bytes.subarray(0, 4)]).toEqual([0x89, 0x50, 0x4e, 0x47]);
    const missing = jobs.screenshot(job_id, { selector: "#not-there" });
    expect(
      await missing.then(
        () => 200,
        (err) => err.status,
      ),
    ).toBe(422);
    await jobs.cancel(job_id);
    const after = await jobs.wait(job_id);
    expect(after.status).toBe("cancelled");
    expect((await jobs.assets(job_id)).map(({ name }) => name)).toContain(asset.name);
    expect(
      await jobs.screenshot(job_id).then(
        () => 200,
        (err) => err.status,
      ),
    ).toBe(409);
    await fleet.lanesWarm();
  },
  SLOW_MS,
);

test(
  "a session is opened, driven and closed with one typed method per action (rules/clients#one-method-for-each-action)",
  async () => {
    const session = await client.sessions.open({ url: `${site.origin}/form` });
    await session.fill({ selector: "#name", text: "Ada" });
    const { title } = await session.click({ selector: "button" });
    expect(title).toBe("Hello Ada");
    const { result } = await session.evaluate<number>({ code: "6 * 7" });
    expect(result).toBe(42);
    expect((await session.state()).title).toBe("Hello Ada");
    await session.cookies.put([{ name: "a", value: "1", url: site.origin }]);
    expect(await session.cookies.get()).toContainEqual(
      expect.objectContaining({ name: "a", value: "1" }),
    );
    expect((await session.network()).entries.map(({ url }) => url)).toContain(
      `${site.origin}/form`,
    );
    await session.close();
    expect(
      await session.state().then(
        () => 200,
        (err) => err.status,
      ),
    ).toBe(404);
    await fleet.lanesWarm();
  },
  SLOW_MS,
);

test(
  "the videos of a page arrive at the hub as assets that say they were fetched again, beside its HAR (rules/capture#videos)",
  async () => {
    const { jobs } = client;
    const options = { download_video: true, idle_seconds: 0.5, post_click_seconds: 0.5 };
    const stages = new Set<unknown>();
    const job = await jobs.run(
      { url: videos.url, options },
      { onEvent: ({ data }) => stages.add(data.stage), timeout_ms: 150_000 },
    );
    expect(job).toMatchObject({ status: "completed", error: null });
    expect(stages).toContain("video");
    const again = (await jobs.assets(job.job_id)).filter(({ refetched }) => refetched);
    expect(again.map(({ kind, partial }) => [kind, partial])).toEqual([
      ["video", false],
      ["video", false],
    ]);
    expect(job.capture?.seen).toBe(job.asset_count - again.length);
    const har = (await (await jobs.file(job.job_id, "har.json")).json()) as {
      log: { entries: unknown[] };
    };
    expect(har.log.entries.length).toBeGreaterThan(3);
    const zip = await jobs.file(job.job_id, "assets.zip");
    expect((await zip.arrayBuffer()).byteLength).toBeGreaterThan(job.asset_bytes);
  },
  SLOW_MS,
);
