import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ServerResponse } from "node:http";
import { type JobLane, openJobLane } from "#test/support/rigs/lane-jobs.ts";
import { seededBytes, sha256, utf8 } from "#test/support/servers/site/bytes.ts";
import { type SiteServer, startServer } from "#test/support/servers/site/server.ts";

const SLOW_MS = 180_000;
/** `DRIP_SECONDS=60` in the long form. */
const DRIP_S = Number(Bun.env.DRIP_SECONDS ?? 12);
const NO_STORE = { "cache-control": "no-store" };

let site: SiteServer;
let lane: JobLane;
beforeAll(async () => {
  [site, lane] = await Promise.all([startServer("127.0.0.1"), openJobLane()]);
}, SLOW_MS);
afterAll(async () => {
  await lane.close();
  await site.stop();
});

/** A page whose only content is this script. */
function page(path: string, script: string): string {
  const html = `<!doctype html><title>page</title><script>${script}</script>`;
  site.body(path, { mime: "text/html", bytes: utf8(html), extra: true });
  return site.origin + path;
}

/** Keeps the network of its page busy until this is asked for. */
const openUntil = (path: string) => `fetch("${site.openUntil(path)}").then((r) => r.text())`;

const json = (res: ServerResponse, headers: Record<string, string>, body: Uint8Array) => {
  res.writeHead(200, { "content-type": "application/json", ...NO_STORE, ...headers });
  res.end(body);
};

describe("a response that nobody reads", () => {
  const bytes = seededBytes(11, 300_000);
  const small = utf8('{"ok":true}');
  const zipped = Bun.gzipSync(Uint8Array.from(bytes));
  const length = (body: Uint8Array) => ({ "content-length": String(body.length) });
  beforeAll(() => {
    site.on("/unread/small.json", (_q, res) => json(res, length(small), small));
    site.on("/unread/large.json", (_q, res) => json(res, length(bytes), bytes));
    site.on("/unread/chunked.json", (_q, res) => json(res, {}, bytes));
    site.on("/unread/zipped.json", (_q, res) =>
      json(res, { ...length(zipped), "content-encoding": "gzip" }, zipped),
    );
    site.body("/unread-worker.js", {
      mime: "text/javascript",
      bytes: utf8('setTimeout(() => fetch("/unread/small.json?worker"), 100);'),
      extra: true,
    });
    site.body("/unread-sw.js", {
      mime: "text/javascript",
      bytes: utf8(
        'onactivate = (e) => { e.waitUntil(clients.claim()); setTimeout(() => fetch("/unread/small.json?sw"), 100); };',
      ),
      extra: true,
    });
  });
  const asked = {
    "fetch, not stored": ["small.json", `fetch("/unread/small.json")`],
    "fetch of 300 KB": ["large.json", `fetch("/unread/large.json")`],
    "fetch of unknown length": ["chunked.json", `fetch("/unread/chunked.json")`],
    "fetch, compressed": ["zipped.json", `fetch("/unread/zipped.json")`],
    "fetch with keepalive": [
      "small.json?keepalive",
      `fetch("/unread/small.json?keepalive", { keepalive: true, method: "POST", body: "x" })`,
    ],
    "fetch whose head is read": [
      "large.json?head",
      `fetch("/unread/large.json?head").then((r) => { const reader = r.body.getReader(); return reader.read(); })`,
    ],
    "fetch of a worker": ["small.json?worker", `new Worker("/unread-worker.js")`],
    "fetch of a service worker": [
      "small.json?sw",
      `navigator.serviceWorker.register("/unread-sw.js")`,
    ],
    prefetch: [
      "small.json?prefetch",
      `document.head.append(Object.assign(document.createElement("link"), { rel: "prefetch", href: "/unread/small.json?prefetch" }))`,
    ],
  };
  test.each(Object.entries(asked))(
    "%s: it is whole, and ends when its bytes have come",
    async (name, [asks = "", script = ""]) => {
      const path = `/unread-page-${name.replaceAll(/\W/g, "-")}`;
      const { outcome, assets, log } = await lane.run({
        url: page(path, `${openUntil(`/unread/${asks}`)}; setTimeout(() => ${script}, 300)`),
        options: { idle_seconds: 1.5, max_wait_seconds: 45 },
      });
      const got = assets.filter((a) => a.source_url.includes("/unread/"));
      const body = /300|unknown|compressed|head/.test(name) ? bytes : small;
      expect({ got: got.map((a) => a.sha256), log }).toMatchObject({ got: [sha256(body)] });
      expect(got[0]?.partial).toBe(false);
      expect(outcome.capture).toMatchObject({ lost: 0, partial: 0, ratio: 1 });
      expect(log.join("\n")).toContain("network silent for 1.5 s");
      expect(log.join("\n")).not.toMatch(/no longer waiting|cuts/);
    },
    SLOW_MS,
  );

  test(
    "a beacon and a WebSocket hold no job",
    async () => {
      site.on("/beacon", (_q, res) => json(res, length(small), small));
      const script = `${openUntil("/beacon")}; setTimeout(() => { navigator.sendBeacon("/beacon", "x"); new WebSocket(location.origin.replace("http", "ws") + "/socket"); }, 300)`;
      const { outcome, log } = await lane.run({ url: page("/beacons", script) });
      expect(outcome).toMatchObject({ status: "completed", capture: { lost: 0 } });
      expect(log.join("\n")).toContain("network silent for 0.5 s");
      expect(log.join("\n")).not.toContain("no longer waiting");
    },
    SLOW_MS,
  );
});

describe("the end of a job cuts a transfer short", () => {
  test(
    "which its log says, and what came of the body is kept to the byte",
    async () => {
      const part = seededBytes(12, 100_000);
      site.on("/slow.bin", (_q, res) => {
        res.writeHead(200, { "content-type": "text/plain", "content-length": "1000000" });
        res.write(part);
      });
      const url = page("/slow-page", `fetch("/slow.bin").then((r) => r.text())`);
      const { outcome, assets, log } = await lane.run({ url, options: { max_wait_seconds: 10 } });
      expect(log.join("\n")).toContain("the end of the job cuts 1 running transfers short");
      expect(outcome.capture).toMatchObject({ partial: 1, lost: 0, reasons: { timeout: 1 } });
      expect(assets.find((a) => a.partial)).toMatchObject({
        source_url: `${site.origin}/slow.bin`,
        ranges: [{ start: 0, end: part.length - 1 }],
        sha256: sha256(part),
      });
    },
    SLOW_MS,
  );

  test(
    "only at max_wait_seconds while bytes go on coming, however slowly",
    async () => {
      const piece = seededBytes(13, 1_000);
      site.on("/drips.bin", async (_q, res) => {
        const length = { "content-length": String(1_000 * DRIP_S) };
        res.writeHead(200, { "content-type": "text/plain", ...length });
        for (let i = 0; i < DRIP_S; i += 1) {
          res.write(piece);
          await Bun.sleep(1_000);
        }
        res.end();
      });
      const url = page("/drips-page", `fetch("/drips.bin").then((r) => r.text())`);
      const options = { idle_seconds: 0.5, max_wait_seconds: 3 * DRIP_S };
      const { outcome, assets } = await lane.run({ url, options });
      expect(assets.find((a) => a.source_url.endsWith("/drips.bin"))).toMatchObject({
        partial: false,
        size: 1_000 * DRIP_S,
      });
      expect(outcome.capture).toMatchObject({ lost: 0, partial: 0 });
    },
    SLOW_MS + 3_000 * DRIP_S,
  );

  test(
    "at max_wait_seconds also one that is still moving, and says so",
    async () => {
      const piece = seededBytes(15, 1_000);
      site.on("/endless.bin", async (_q, res) => {
        res.writeHead(200, { "content-type": "text/plain", "content-length": "1000000" });
        while (!res.closed) {
          res.write(piece);
          await Bun.sleep(200);
        }
      });
      const url = page("/endless-page", `fetch("/endless.bin").then((r) => r.text())`);
      const options = { idle_seconds: 0.5, max_wait_seconds: 4 };
      const { outcome, assets, log } = await lane.run({ url, options });
      expect(log.join("\n")).toContain("the end of the job cuts 1 running transfers short");
      expect(outcome.capture).toMatchObject({ partial: 1, lost: 0, reasons: { timeout: 1 } });
      const kept = assets.find(({ source_url }) => source_url.endsWith("/endless.bin"));
      const pieces = (kept?.size ?? 0) / piece.length;
      expect(pieces).toBeGreaterThan(5);
      expect(kept).toMatchObject({
        partial: true,
        ranges: [{ start: 0, end: pieces * piece.length - 1 }],
        sha256: sha256(Buffer.concat(Array.from({ length: pieces }, () => piece))),
      });
    },
    SLOW_MS,
  );

  test(
    "a body that its page leaves unread in the network is lost as that, and holds the job no longer than a look at the page",
    async () => {
      const huge = seededBytes(14, 5 * 2 ** 20);
      site.on("/unread/huge.json", (_q, res) =>
        json(res, { "content-length": String(huge.length) }, huge),
      );
      const url = page("/huge-page", `fetch("/unread/huge.json")`);
      const options = { idle_seconds: 0.5, max_wait_seconds: 60 };
      const { outcome, log } = await lane.run({ url, options });
      expect({ capture: outcome.capture, log }).toMatchObject({
        capture: { lost: 1, reasons: { unread: 1 } },
      });
      expect(log.join("\n")).toContain("network silent for 0.5 s");
      expect(log.join("\n")).toContain("brought nothing, left in the network by their pages");
    },
    SLOW_MS,
  );
});

describe("a body larger than any buffer whose length nobody told", () => {
  test(
    "is kept whole",
    async () => {
      const block = seededBytes(15, 2 ** 20);
      const hasher = new Bun.CryptoHasher("sha256");
      for (let i = 0; i < 150; i += 1) hasher.update(block);
      site.on("/endless.bin", async (_q, res) => {
        res.writeHead(200, { "content-type": "application/octet-stream" });
        for (let i = 0; i < 150 && !res.destroyed; i += 1)
          if (!res.write(block)) await new Promise((resolve) => res.once("drain", resolve));
        res.end();
      });
      const script = `fetch("/endless.bin").then(async (r) => { for (const reader = r.body.getReader(); !(await reader.read()).done;); })`;
      const { assets, log } = await lane.run({
        url: page("/endless-page", script),
        options: { max_wait_seconds: 300 },
        verify: false,
      });
      const body = assets.find((a) => a.source_url.endsWith("/endless.bin"));
      expect({ body, log }).toMatchObject({
        body: { partial: false, size: 150 * 2 ** 20, sha256: hasher.digest("hex") },
      });
    },
    5 * SLOW_MS,
  );
});

describe("silence begins when the page could have asked (rules/capture#network-silence)", () => {
  const spin = (ms: number) => `for (const end = Date.now() + ${ms}; Date.now() < end; );`;
  const worker = `new Worker(URL.createObjectURL(new Blob(["importScripts('" + location.origin + "/lib.js'); fetch('" + location.origin + "/data.json').then((r) => r.json())"])))`;
  test.each([
    ["in its load handler", `onload = () => { ${worker}; ${spin(3_500)} };`],
    ["after its load", `onload = () => setTimeout(() => { ${worker}; ${spin(3_500)} }, 500);`],
  ])(
    "a page that is busy %s is waited for, with what its worker asks for",
    async (name, script) => {
      site.body("/lib.js", { mime: "text/javascript", bytes: utf8("self.lib = 1;"), extra: true });
      site.body("/data.json", { mime: "application/json", bytes: utf8("[1]"), extra: true });
      const { outcome, assets } = await lane.run({
        url: page(`/busy-${name.replaceAll(" ", "-")}`, script),
        options: { idle_seconds: 2 },
      });
      const paths = assets.map((a) => new URL(a.source_url).pathname);
      expect(paths).toContain("/lib.js");
      expect(paths).toContain("/data.json");
      expect(outcome.capture).toMatchObject({ lost: 0, ratio: 1, late: 0, page: "page.html" });
    },
    SLOW_MS,
  );

  test(
    "what is asked for after the decision is counted as late",
    async () => {
      site.body("/late.json", { mime: "application/json", bytes: utf8("[2]"), extra: true });
      // A page that asks all the time: something always begins between the last look and the snapshot.
      const url = page(
        "/asks-always",
        `setInterval(() => { const x = new XMLHttpRequest(); x.open("GET", "/late.json?" + Math.random()); x.send(); }, 2);`,
      );
      const { outcome, log } = await lane.run({ url, options: { max_wait_seconds: 10 } });
      expect(outcome.capture?.late).toBeGreaterThan(0);
      const { seen, captured, partial, lost } = outcome.capture ?? { seen: -1 };
      expect(seen).toBe((captured ?? 0) + (partial ?? 0) + (lost ?? 0));
      expect(log.join("\n")).toContain("began after the wait was over and are not captured");
    },
    SLOW_MS,
  );
});
