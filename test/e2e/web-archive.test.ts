import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { $ } from "bun";
import { type Client, createClient } from "flotilla";
import {
  indexOf,
  packedFiles,
  type ReadRecord,
  readWarc,
  wrongDigests,
} from "#test/support/models/archive.ts";
import { type FleetProcesses, startFleet } from "#test/support/rigs/fleet-process.ts";
import { type ReplayPlayer, startReplayPlayer } from "#test/support/rigs/replay-player.ts";
import { seededBmp } from "#test/support/servers/site/bytes.ts";
import { type SiteServer, startServer } from "#test/support/servers/site/server.ts";
import { makeStreams } from "#test/support/servers/site/videos.ts";

/** A real capture as a web archive, judged by warcio and by ReplayWeb.page, which we did not write. */

const SLOW_MS = 180_000;
const PICTURE = seededBmp(3, 20_000);
const SCRIPT = `
  fetch("/answer", { method: "POST", body: new URLSearchParams({ ask: "all" }) })
    .then((answer) => answer.json())
    .then(({ said }) => { document.getElementById("said").textContent = said; })
    .then(() => fetch("/held"));`;
const PAGE = `<!doctype html><title>An archived page</title><h1>Kept words</h1>
  <p id="said">nothing yet</p><img id="one" src="/one.bmp"><img src="/same.bmp"><img src="/gone.bmp">
  <video src="/clip.mp4" preload="auto" muted></video><script src="/app.js"></script>`;

let dir: string;
let fleet: FleetProcesses;
let site: SiteServer;
let player: ReplayPlayer;
let client: Client;
let clip: Uint8Array;
/** The page has said what it has to say, and has an open request until the picture of it is made. */
const asked = Promise.withResolvers<void>();
const pictured = Promise.withResolvers<void>();
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "flotilla-archive-"));
  const [started, server, shown, streams] = await Promise.all([
    startFleet({ lanes: 1, headless: true }),
    startServer("127.0.0.1"),
    startReplayPlayer(),
    makeStreams(),
  ]);
  fleet = started;
  site = server;
  player = shown;
  clip = streams.get("plain.mp4") ?? new Uint8Array();
  client = createClient({ base_url: fleet.url });
  site.on("/", (_req, res) => {
    res.writeHead(302, { location: "/page" });
    res.end();
  });
  site.body("/page", {
    mime: "text/html; charset=utf-8",
    bytes: Buffer.from(PAGE),
    encoding: "gzip",
  });
  site.body("/app.js", { mime: "text/javascript", bytes: Buffer.from(SCRIPT), encoding: "br" });
  site.body("/one.bmp", { mime: "image/bmp", bytes: PICTURE });
  site.body("/same.bmp", { mime: "image/bmp", bytes: PICTURE });
  site.body("/clip.mp4", { mime: "video/mp4", bytes: clip, ranges: true });
  site.on("/answer", (req, res) => {
    res.writeHead(200, { "content-type": "application/json" });
    res.end(JSON.stringify({ said: `the answer to ${req.method}` }));
  });
  site.on("/held", async (_req, res) => {
    asked.resolve();
    await pictured.promise;
    res.end("let go");
  });
  await fleet.lanesWarm(60_000);
}, SLOW_MS);
afterAll(async () => {
  await player.close();
  await fleet.stop();
  await site.stop();
  await rm(dir, { recursive: true, force: true });
}, SLOW_MS);

/** A job of the site's page with a picture of it, and its WACZ, packed and unpacked. */
async function archivedVisit() {
  const options = { idle_seconds: 1, max_wait_seconds: 240 };
  const { job_id } = await client.jobs.submit({ url: `${site.origin}/`, options });
  await asked.promise;
  await client.jobs.screenshot(job_id, { format: "png" });
  pictured.resolve();
  expect(await client.jobs.wait(job_id)).toMatchObject({ status: "completed", error: null });
  const wacz = join(dir, `${job_id}.wacz`);
  await writeFile(wacz, new Uint8Array(await (await client.jobs.archive([job_id])).arrayBuffer()));
  const unpacked = join(dir, job_id);
  await $`unzip -q ${wacz} -d ${unpacked}`.quiet();
  return { job_id, wacz, unpacked };
}

const answers = (records: readonly ReadRecord[], path: string) =>
  records.filter(
    ({ type, uri }) => ["response", "revisit"].includes(type) && uri === `${site.origin}${path}`,
  );

test(
  "a real capture is a WACZ whose records, digests and index are right for warcio, and whose page ReplayWeb.page shows when the site is gone (rules/documents#web-archive)",
  async () => {
    const { job_id, wacz, unpacked } = await archivedVisit();
    const { named, found } = await packedFiles(unpacked);
    expect(named).toEqual(found);

    const warc_name = `flotilla-${job_id}.warc.gz`;
    const warc = new Uint8Array(await readFile(join(unpacked, "archive", warc_name)));
    expect(await wrongDigests(warc)).toEqual([]);
    const records = await readWarc(warc);
    const one = (path: string) => answers(records, path)[0];
    expect(one("/")).toMatchObject({
      statusline: "HTTP/1.1 302 Found",
      headers: { location: "/page" },
    });
    expect(one("/page")).toMatchObject({
      statusline: "HTTP/1.1 200 OK",
      text: PAGE,
      headers: {
        "content-type": "text/html; charset=utf-8",
        "content-length": String(PAGE.length),
        "x-orig-content-encoding": "gzip",
      },
    });
    expect(one("/app.js")).toMatchObject({
      text: SCRIPT,
      headers: { "x-orig-content-encoding": "br" },
    });
    expect(one("/gone.bmp")).toMatchObject({
      statusline: "HTTP/1.1 404 Not Found",
      text: "not here",
    });
    expect(one("/answer")?.text).toBe('{"said":"the answer to POST"}');
    expect(one("/clip.mp4")?.statusline).toBe("HTTP/1.1 200 OK");
    expect(one("/clip.mp4")?.body).toEqual(clip);
    const pictures = [...answers(records, "/one.bmp"), ...answers(records, "/same.bmp")];
    expect(pictures.map(({ type }) => type).toSorted()).toEqual(["response", "revisit"]);
    const [kept] = pictures.filter(({ type }) => type === "response");
    const [again] = pictures.filter(({ type }) => type === "revisit");
    expect(kept?.body).toEqual(new Uint8Array(PICTURE));
    expect(again?.fields).toMatchObject({
      "warc-payload-digest": kept?.fields["warc-payload-digest"],
      "warc-refers-to-target-uri": kept?.uri,
    });
    const posts = records.filter(({ type, uri }) => type === "request" && uri.endsWith("/answer"));
    expect(posts.map(({ statusline }) => statusline)).toEqual(["POST /answer HTTP/1.1"]);
    const made = records.filter(({ type }) => type === "resource");
    const main = `${site.origin}/`;
    const of_page = made.filter(({ uri }) => /^urn:(dom|text|view):/.test(uri));
    expect(of_page.map(({ uri }) => uri).toSorted()).toEqual([
      `urn:dom:${main}`,
      `urn:text:${main}`,
      `urn:view:${site.origin}/page`,
    ]);
    expect(made.find(({ uri }) => uri.startsWith("urn:text:"))?.text).toContain("Kept words");

    const index = await readFile(join(unpacked, "indexes/index.cdxj"), "utf8");
    const ours = index.trim().replaceAll("sha256:", "").split("\n");
    expect(ours).toEqual(await indexOf(warc_name, warc));

    const pages = (await readFile(join(unpacked, "pages/pages.jsonl"), "utf8")).trim().split("\n");
    expect(pages.map((line) => JSON.parse(line))).toMatchObject([
      { format: "json-pages-1.0", hasText: true },
      { url: main, title: "An archived page" },
    ]);

    const copy = await client.jobs.import(Bun.file(wacz));
    expect(copy).toMatchObject({ status: "completed", source: "import", url: main });
    const { page, assets } = await client.jobs.compare(job_id, copy.job_id);
    expect(page).toMatchObject({
      title: { changed: false },
      final_url: { changed: false },
      http_status: { changed: false },
      text: { changed: false },
    });
    expect(assets.counts).toMatchObject({ new: 0, gone: 0, changed: 0 });

    await site.stop();
    const frame = await player.open(wacz, `${site.origin}/page`);
    await frame.waitForFunction(
      "document.getElementById('said').textContent !== 'nothing yet'",
      null,
      {
        timeout: SLOW_MS / 2,
      },
    );
    expect(await frame.evaluate("document.body.innerText")).toContain("Kept words");
    expect(await frame.evaluate("document.getElementById('said').textContent")).toBe(
      "the answer to POST",
    );
    expect(await frame.evaluate("document.getElementById('one').naturalWidth")).toBeGreaterThan(0);
  },
  SLOW_MS,
);
