import { afterAll, beforeAll, expect, test } from "bun:test";
import { Har } from "#test/support/clients/har.ts";
import { type JobLane, openJobLane } from "#test/support/rigs/lane-jobs.ts";
import { seededBmp, seededBytes } from "#test/support/servers/site/bytes.ts";
import { type SiteServer, startServer } from "#test/support/servers/site/server.ts";

let site: SiteServer;
let other: SiteServer;
let lane: JobLane;
const DATA = seededBmp(7, 30_000);

beforeAll(async () => {
  [site, other, lane] = await Promise.all([
    startServer("127.0.0.1"),
    // An address of its own: the gate is at 127.0.0.1 too.
    startServer("127.0.0.2"),
    openJobLane(),
  ]);
  site.on("/start", (_req, res) => {
    res.writeHead(302, { location: "/page?q=a%20b&q=c", "set-cookie": "hop=secret-hop; Path=/" });
    res.end();
  });
  site.on("/page", (_req, res) => {
    res.writeHead(200, {
      "content-type": "text/html",
      "set-cookie": ["sid=secret-sid; Path=/; HttpOnly", "theme=secret-dark; Secure"],
    });
    res.end(`<title>Har page</title><img src="/image.bmp">
      <iframe src="${other.origin}/frame"></iframe>
      <script>
        fetch("/data?n=1", { headers: { authorization: "Bearer secret-token", "x-api-key": "secret-key" } })
          .then(() => fetch("/data?n=1", { method: "POST", body: "secret-body" }))
          .then(() => fetch("/gone")).then(() => fetch("http://127.0.0.1:9/refused")).catch(() => {});
      </script>`);
  });
  site.body("/image.bmp", { mime: "image/bmp", bytes: DATA });
  site.on("/data", (req, res) => {
    res.writeHead(200, { "content-type": "application/json" });
    res.end(JSON.stringify({ method: req.method }));
  });
  other.body("/frame", { mime: "text/html", bytes: Buffer.from("<img src=/inner.bmp>") });
  other.body("/inner.bmp", { mime: "image/bmp", bytes: DATA, encoding: "gzip" });
}, 180_000);
afterAll(async () => {
  await lane.close();
  await Promise.all([site.stop(), other.stop()]);
});

test("har.json (rules/documents#har) is HAR 1.2 with redirects, headers, sizes, timings and the names of the assets", async () => {
  const run = await lane.run({ url: `${site.origin}/start` });
  expect(run.outcome.status).toBe("completed");
  const text = run.documents.get("har.json") ?? "";
  const { log } = Har.parse(JSON.parse(text));
  const find = (path: string, method = "GET") => {
    const found = log.entries.find(
      (e) => e.request.url.endsWith(path) && e.request.method === method,
    );
    if (!found) throw new Error(`no entry of ${path}`);
    return found;
  };
  const assetAt = (path: string) => run.assets.find((a) => a.source_url.endsWith(path))?.name;

  expect(log.pages).toMatchObject([{ title: "Har page" }]);
  expect(log.pages[0]?.pageTimings.onLoad).toBeGreaterThan(0);
  const hop = find("/start");
  expect(hop.response).toMatchObject({
    status: 302,
    redirectURL: `${site.origin}/page?q=a%20b&q=c`,
    content: { size: 0 },
  });
  expect(hop.response.content._asset).toBeUndefined();
  expect(hop.response.cookies).toMatchObject([{ name: "hop", value: "***", path: "/" }]);
  const page = find("/page?q=a%20b&q=c");
  expect(page.request.queryString).toEqual([
    { name: "q", value: "a b" },
    { name: "q", value: "c" },
  ]);
  expect(page.request.cookies).toEqual([{ name: "hop", value: "***" }]);
  expect(
    page.response.cookies.map(({ name, httpOnly, secure }) => [name, httpOnly, secure]),
  ).toEqual([
    ["sid", true, false],
    ["theme", false, true],
  ]);
  expect(page).toMatchObject({ serverIPAddress: "127.0.0.1", pageref: log.pages[0]?.id });
  expect(page.request.httpVersion).toBe("HTTP/1.1");

  const image = find("/image.bmp");
  expect(image.response.content).toEqual({
    size: DATA.length,
    mimeType: "image/bmp",
    _asset: assetAt("/image.bmp"),
  });
  expect(image.response.bodySize).toBe(DATA.length);
  expect(image.time).toBeGreaterThan(0);
  // The gate's own address would be that of every entry.
  expect(find("/frame")).toMatchObject({ serverIPAddress: "127.0.0.2" });
  const inner = find("/inner.bmp");
  expect(inner.response.content).toMatchObject({
    size: DATA.length,
    _asset: assetAt("/inner.bmp"),
  });
  expect(inner.response.bodySize).not.toBe(DATA.length);

  // Two bodies of one URL: each entry names its own.
  const got = find("/data?n=1").response.content._asset;
  const posted = find("/data?n=1", "POST").response.content._asset;
  expect([got, posted].sort()).toEqual(
    run.assets
      .filter((a) => a.source_url.endsWith("/data?n=1"))
      .map((a) => a.name)
      .sort(),
  );
  expect(got).not.toBe(posted);
  expect(find("/gone").response.status).toBe(404);
  expect(find("/refused")._error).toStartWith("net::ERR_");
  expect(find("/refused").response.status).toBe(0);

  expect(text).not.toContain("secret-");
  const headers = find("/data?n=1").request.headers.map(({ name, value }) => [
    name.toLowerCase(),
    value,
  ]);
  expect(headers).toContainEqual(["authorization", "***"]);
  expect(headers).toContainEqual(["x-api-key", "***"]);
  expect(headers).toContainEqual(["cookie", "***"]);
}, 180_000);

test("har.json: what came from the cache says so, and names what holds it", async () => {
  site.body("/kept.bmp", {
    mime: "image/bmp",
    bytes: seededBytes(8, 5_000),
    headers: { "cache-control": "max-age=600" },
  });
  site.on("/twice", (_req, res) => {
    res.setHeader("content-type", "text/html");
    res.end(`<iframe src="/frame?1"></iframe><iframe src="/frame?2"></iframe>
      <script>addEventListener("message", () => document.body.append(
        Object.assign(document.createElement("iframe"), { src: "/frame?3" })), { once: true })</script>`);
  });
  site.on("/frame", (_req, res) => {
    res.setHeader("content-type", "text/html");
    // The third frame asks when a body has come whole, so that the cache has it however busy the machine is.
    res.end(`<script>fetch('/kept.bmp').then((answer) => answer.arrayBuffer())
      .then(() => parent.postMessage("kept", "*"))</script>`);
  });
  const run = await lane.run({ url: `${site.origin}/twice`, options: { idle_seconds: 1 } });
  const { log } = Har.parse(JSON.parse(run.documents.get("har.json") ?? ""));
  const kept = log.entries.filter((e) => e.request.url.endsWith("/kept.bmp"));
  expect(kept.length).toBeGreaterThanOrEqual(3);
  expect(kept.some((e) => e._fromCache === true && e.response.bodySize === 0)).toBe(true);
  for (const entry of kept) expect(entry.response.content._asset).toBe("kept.bmp");
}, 180_000);
