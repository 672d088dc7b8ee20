import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from "bun:test";
import { RunExtras } from "#shared/protocol/link/messages.ts";
import type { Block } from "#shared/protocol/schema/block.ts";
import { JobOptions } from "#shared/protocol/schema/job.ts";
import { laneWarm, type SessionRig, startSessionRig } from "#test/support/rigs/session-rig.ts";
import { assignment } from "#test/support/rigs/worker-rig.ts";
import { type SiteServer, startServer } from "#test/support/servers/site/server.ts";

/** What browsers do not request (rules/browser-options#blocking). */

setDefaultTimeout(180_000);

const ADS = "127.0.0.3";
const GIF = Buffer.from("R0lGODlhAQABAAAAACwAAAAAAQABAAA=", "base64");

const page = (far: string, ads: string) => `<!doctype html><title>waits</title>
<link rel="stylesheet" href="/style.css"><img src="/top.gif"><img src="${ads}/banner.gif">
<iframe src="${far}/frame"></iframe><script src="/first.js"></script>
<script type="module">
const settled = (promise) => promise.then(() => 1, () => 1);
await settled(fetch("/track/page"));
await new Promise((answered) => { new Worker("/worker.js").onmessage = answered; });
open("/popup");
// It stays open: what a window had not handed over when it closed would be lost.
await new Promise((told) => { globalThis.onmessage = told; });
document.title = "opened";
</script>`;

const OPENED = `new Promise((opened) => {
  if (document.title === "opened") return opened(true);
  new MutationObserver(() => opened(true)).observe(document.querySelector("title"), { childList: true });
})`;

/** Type and text of what the site has. */
const FILES: Record<string, [type: string, body: string | Buffer]> = {
  "/frame": ["text/html", `<!doctype html><img src="/framed.gif">`],
  "/popup": [
    "text/html",
    `<!doctype html><img src="/popup.gif" onload="tell()" onerror="tell()">
<script>function tell() { opener.postMessage(1, "*"); }</script>`,
  ],
  "/style.css": ["text/css", "body { color: red }"],
  "/first.js": ["text/javascript", "1"],
  "/worker.js": [
    "text/javascript",
    `fetch("/track/worker").then(() => postMessage(1), () => postMessage(1));`,
  ],
};

let site: SiteServer;
let far: SiteServer;
let ads: SiteServer;
const all = () => [site, far, ads];
/** A browser with a window asks for an icon. */
const asked = (server: SiteServer) =>
  [...new Set(server.hits.map(({ path }) => path))]
    .filter((path) => path !== "/favicon.ico")
    .sort();

function serve(server: SiteServer): void {
  for (const [path, [type, body]] of Object.entries(FILES))
    server.on(path, (_req, res) => {
      res.writeHead(200, { "content-type": type });
      res.end(body);
    });
  for (const path of ["/top.gif", "/banner.gif", "/framed.gif", "/popup.gif"])
    server.on(path, (_req, res) => {
      res.writeHead(200, { "content-type": "image/gif" });
      res.end(GIF);
    });
  for (const path of ["/track/page", "/track/worker"])
    server.on(path, (_req, res) => {
      res.writeHead(200, { "content-type": "text/plain" });
      res.end("tracked");
    });
}

beforeAll(async () => {
  [site, far, ads] = await Promise.all([
    startServer("127.0.0.1"),
    startServer("127.0.0.2"),
    startServer(ADS),
  ]);
  for (const server of all()) serve(server);
  site.on("/", (_req, res) => {
    res.writeHead(200, { "content-type": "text/html" });
    res.end(page(far.origin, ads.origin));
  });
});
afterAll(async () => {
  await Promise.all(all().map((server) => server.stop()));
});
beforeEach(() => {
  for (const server of all()) server.hits.length = 0;
});

let jobs = 0;
const EVERY = ["/", "/first.js", "/popup", "/style.css", "/worker.js"];

describe.each([
  ["headless", "1"],
  ["headful", "0"],
])("on a %s lane", (_, headless_lanes) => {
  let rig: SessionRig;
  beforeAll(async () => {
    rig = await startSessionRig({ SVC_HEADLESS_LANES: headless_lanes });
  });
  afterAll(() => rig.close());

  const run = async (block: Block | null, title = "opened") => {
    jobs += 1;
    const job_id = `blocked${jobs}`;
    const warm = laneWarm(rig.peer, 0);
    rig.peer.send({
      ...assignment(job_id, 0, 900 + jobs),
      url: site.origin,
      // Longer than a busy machine takes to start a worker or a window, which asks for nothing meanwhile.
      options: JobOptions.parse({ idle_seconds: 3 }),
      extras: RunExtras.parse({ browser_options: block && { block }, ad_hosts: [ADS] }),
    });
    const result = await rig.peer.nextWhere(["result"], (frame) => frame.job_id === job_id);
    await warm;
    expect(result).toMatchObject({ status: "completed", title });
    return result.capture;
  };

  test("a job without it requests everything, and its report says nothing of it", async () => {
    const report = await run(null);
    expect(asked(site)).toEqual(
      [...EVERY, "/popup.gif", "/top.gif", "/track/page", "/track/worker"].sort(),
    );
    expect([asked(far), asked(ads)]).toEqual([["/frame", "/framed.gif"], ["/banner.gif"]]);
    expect(report?.blocked).toBeUndefined();
  });

  test("kinds, hosts, patterns and ads are kept out of windows, frames and workers, and are no loss", async () => {
    const report = await run({
      types: ["stylesheet"],
      hosts: ["127.0.0.2"],
      patterns: ["*/track/*", "*/popup.gif"],
      ads: true,
    });
    expect(asked(site)).toEqual(
      [...EVERY.filter((path) => path !== "/style.css"), "/top.gif"].sort(),
    );
    expect([asked(far), asked(ads)]).toEqual([[], []]);
    expect(report).toMatchObject({
      lost: 0,
      ratio: 1,
      blocked: { requests: 6, by: { types: 1, hosts: 1, patterns: 3, ads: 1 } },
    });
    // A browser with a window asks for an icon as well.
    expect(report?.seen).toBe(new Set(site.hits.map(({ path }) => path)).size);
  });

  test("what is opened on purpose is opened, even when its host is blocked", async () => {
    const report = await run({ hosts: ["127.0.0.1"] }, "waits");
    expect(asked(site)).toEqual(["/"]);
    // Its document, and what the others have.
    expect(report).toMatchObject({ seen: 4, captured: 4, lost: 0 });
  });

  test("a session keeps pictures out of every tab, tells how many, and the next to use its lane has them", async () => {
    const session = await rig.open({
      url: site.origin,
      browser_options: { block: { types: ["image"] } },
    });
    await session.get("evaluate", { code: OPENED });
    const reply = await session.call("evaluate", { code: "1" });
    expect(reply.place?.blocked).toEqual({
      requests: 4,
      by: { types: 4 },
      bytes_saved: expect.any(Number),
    });
    await session.get("tab", { op: "new", url: `${far.origin}/frame` });
    const { place } = await session.call("evaluate", { code: "1" });
    expect(place?.blocked).toMatchObject({ requests: 5, by: { types: 5 } });
    // The job without it has seen some.
    expect(place?.blocked?.bytes_saved).toBeGreaterThan(5 * GIF.length);
    for (const server of all())
      expect(asked(server).filter((path) => path.endsWith(".gif"))).toEqual([]);
    await session.close();
    await run(null);
    expect(asked(ads)).toEqual(["/banner.gif"]);
  });
});
