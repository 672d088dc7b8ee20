import { seededBmp, seededBytes, utf8 } from "./bytes.ts";
import type { SiteServer, StaticBody } from "./server.ts";

const KB = 1024;
const MB = 1024 * KB;
const noCors = { "access-control-allow-origin": "*" };

const html = (body: string): StaticBody => ({
  mime: "text/html; charset=utf-8",
  bytes: utf8(
    `<!doctype html>\n<html><head><title>Conformance</title></head><body>${body}</body></html>\n`,
  ),
});
const script = (code: string): StaticBody => ({ mime: "text/javascript", bytes: utf8(code) });
const bmp = (seed: number, size: number, headers?: Record<string, string>): StaticBody => ({
  mime: "image/bmp",
  bytes: seededBmp(seed, size),
  headers,
});
const binary = (seed: number, size: number, more: Partial<StaticBody> = {}): StaticBody => ({
  mime: "application/octet-stream",
  bytes: seededBytes(seed, size),
  ...more,
});

export interface ConformanceServers {
  main: SiteServer;
  /** Another site: its frames get processes of their own. */
  cross: SiteServer;
  /** A third one. */
  third: SiteServer;
}

export interface ConformanceMedia {
  mp4: Uint8Array;
  ogg: Uint8Array;
}

/** The conformance page: every way in which a page receives bodies (rules/capture#what-is-captured). */
export function buildConformance(servers: ConformanceServers, media: ConformanceMedia): void {
  addAssets(servers.main, media);
  addFetches(servers.main);
  addTextEncodings(servers.main);
  addFrames(servers);
  addWorkers(servers);
  addServiceWorker(servers.main);
  addNavigation(servers);
  const index = html(indexPage(servers));
  servers.main.body("/", index);
  servers.main.on("/", (_req, res) => {
    servers.main.forget();
    res.writeHead(200, { "content-type": index.mime });
    res.end(index.bytes);
  });
}

function addAssets(main: SiteServer, media: ConformanceMedia): void {
  main.body("/style.css", {
    mime: "text/css",
    bytes: utf8(
      '@import "/import.css";\n@font-face{font-family:F;src:url(/font.woff2)}\n' +
        "body{background:url(/background.bmp);font-family:F}",
    ),
  });
  main.body("/import.css", { mime: "text/css", bytes: utf8("p{color:#123}") });
  main.body("/font.woff2", { mime: "font/woff2", bytes: seededBytes(1, 30 * KB) });
  main.body("/background.bmp", bmp(2, 40 * KB));
  main.body("/preload.js", script("globalThis.preloaded = 1;"));
  main.body("/favicon.ico", bmp(3, 4 * KB));
  main.body("/classic.js", script("globalThis.classic = 1;"));
  main.body("/module.js", script('import "/module-dep.js"; import("/module-lazy.js");'));
  main.body("/module-dep.js", script("export const dep = 1;"));
  main.body("/module-lazy.js", script("export const lazy = 1;"));
  main.body("/picture.svg", {
    mime: "image/svg+xml",
    bytes: utf8(
      '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>',
    ),
  });
  for (let i = 1; i <= 6; i += 1) main.body(`/image-${i}.bmp`, bmp(10 + i, i * 50 * KB));
  main.body("/image-large.bmp", bmp(20, 24 * MB));
  main.body("/image-cached.bmp", bmp(21, 60 * KB, { "cache-control": "public, max-age=3600" }));
  main.body("/video.mp4", {
    mime: "video/mp4",
    bytes: media.mp4,
    ranges: true,
    headers: { etag: '"video"' },
  });
  main.body("/sound.ogg", {
    mime: "audio/ogg",
    bytes: media.ogg,
    ranges: true,
    headers: { etag: '"sound"' },
  });
}

function addFetches(main: SiteServer): void {
  const json = (seed: number, size: number) =>
    utf8(JSON.stringify({ data: Buffer.from(seededBytes(seed, size)).toString("hex") }));
  const mime = "application/json";
  main.body("/gzip.json", { mime, bytes: json(30, 20 * KB), encoding: "gzip" });
  main.body("/brotli.json", { mime, bytes: json(31, 20 * KB), encoding: "br" });
  main.body("/zstd.json", { mime, bytes: json(32, 20 * KB), encoding: "zstd" });
  main.body("/xhr.json", { mime, bytes: json(33, KB) });
  main.body("/post", { mime, bytes: json(34, 2 * KB) });
  main.body("/large.bin", binary(35, 25 * MB));
  main.body("/chunked-1.bin", binary(36, 200 * KB, { chunked: 4 * KB }));
  main.body("/chunked-2.bin", binary(37, 3 * MB, { chunked: 64 * KB }));
  main.body("/unread.bin", binary(38, 20 * KB));
  main.body("/blob.bmp", bmp(39, 90 * KB));
  main.body("/stream-read.bin", binary(40, 5 * MB, { chunked: 100 * KB }));
  main.body("/looks-like-base64.txt", {
    mime: "text/plain",
    bytes: utf8(Buffer.from(seededBytes(41, 600 * KB)).toString("base64")),
  });
  main.body("/ranged.bin", binary(42, 300 * KB, { ranges: true, headers: { etag: '"ranged"' } }));
  main.body(
    "/download.bin",
    binary(43, 700 * KB, {
      headers: { "content-disposition": 'attachment; filename="report 2026.bin"' },
    }),
  );
  main.body(
    "/framed-download.bin",
    binary(44, 300 * KB, {
      headers: { "content-disposition": "attachment" },
    }),
  );
  main.body("/redirected.txt", { mime: "text/plain", bytes: utf8("the end of three redirects") });
  for (let hop = 1; hop <= 3; hop += 1)
    main.on(`/redirect-${hop}`, (_req, res) => {
      res.writeHead(302, { location: hop === 3 ? "/redirected.txt" : `/redirect-${hop + 1}` });
      res.end("a body that nobody gets");
    });
  // The icon comes last, and a navigation would take it away.
  main.on("/after-icon", async (_req, res) => {
    await main.sent("/favicon.ico");
    res.writeHead(204).end();
  });
  main.on("/nothing", (_req, res) => void res.writeHead(204).end());
  main.on("/beacon", (_req, res) => void res.writeHead(204).end());
}

/** Bodies whose text form is not their bytes. */
function addTextEncodings(main: SiteServer): void {
  main.body("/bom.json", {
    mime: "application/json",
    bytes: new Uint8Array([0xef, 0xbb, 0xbf, ...utf8('{"é":"€😀"}')]),
  });
  main.body("/latin1.txt", {
    mime: "text/plain; charset=iso-8859-1",
    bytes: new Uint8Array([0x63, 0x61, 0x66, 0xe9, 0xff, 0x00, 0x7f]),
  });
  main.body("/broken-utf8.txt", {
    mime: "text/plain; charset=utf-8",
    bytes: new Uint8Array([0x61, 0xc3, 0x28, 0xff, 0xed, 0xa0, 0x80]),
  });
  main.body("/shift-jis.js", {
    mime: "text/javascript; charset=shift_jis",
    bytes: new Uint8Array([...utf8("var s='"), 0x83, 0x65, 0x83, 0x58, ...utf8("';")]),
  });
  main.body("/utf16.css", {
    mime: "text/css",
    bytes: new Uint8Array([0xff, 0xfe, ...Buffer.from("p{margin:1px}", "utf16le")]),
  });
}

function addFrames({ main, cross, third }: ConformanceServers): void {
  main.body("/frame.html", html('<img src="/frame.bmp"><a href="/from-frame">same site</a>'));
  main.body("/frame.bmp", bmp(50, 30 * KB));
  main.body("/srcdoc.bmp", bmp(51, 30 * KB));
  cross.body(
    "/frame.html",
    html(
      `<script src="/frame.js"></script><img src="/frame.bmp"><a href="/from-oopif">other site</a>
       <iframe src="${third.origin}/nested.html"></iframe>
       <script>
         const worker = new Worker("/worker.js");
         worker.onmessage = () => {
           worker.postMessage("close");
           parent.postMessage("cross", "*");
         };
       </script>`,
    ),
  );
  cross.body("/frame.js", script("globalThis.inFrame = 1;"));
  cross.body("/frame.bmp", bmp(52, 35 * KB));
  cross.body("/api.json", {
    mime: "application/json",
    bytes: utf8('{"cors":true}'),
    headers: { ...noCors, "access-control-allow-headers": "x-custom" },
  });
  const api = cross.expected.at(-1);
  cross.on("/api.json", (req, res) => {
    res.writeHead(req.method === "OPTIONS" ? 204 : 200, {
      ...noCors,
      "access-control-allow-headers": "x-custom",
      "content-type": "application/json",
    });
    res.end(req.method === "OPTIONS" || !api ? undefined : '{"cors":true}');
  });
  third.body("/nested.html", html('<img src="/nested.bmp">'));
  third.body("/nested.bmp", bmp(53, 25 * KB));
  third.body(
    "/popup.html",
    html("<img src=\"/popup.bmp\" onload=\"opener.postMessage('popup', '*')\">"),
  );
  third.body("/popup.bmp", bmp(54, 45 * KB));
}

function addWorkers({ main, cross }: ConformanceServers): void {
  main.body(
    "/worker.js",
    script(
      'importScripts("/worker-lib.js"); fetch("/worker.bin").then((r) => r.arrayBuffer()).then(() => postMessage("worker"));',
    ),
  );
  main.body("/worker-lib.js", script("self.lib = 1;"));
  main.body("/worker.bin", binary(60, 120 * KB));
  cross.body(
    "/worker.js",
    script(
      'fetch("/worker.bin").then((r) => r.arrayBuffer()).then(() => postMessage("done")); onmessage = () => close();',
    ),
  );
  cross.body("/worker.bin", binary(61, 80 * KB));
  main.body(
    "/shared.js",
    script(
      'onconnect = (e) => fetch("/shared.bin").then((r) => r.arrayBuffer()).then(() => e.ports[0].postMessage("shared"));',
    ),
  );
  main.body("/shared.bin", binary(62, 70 * KB));
}

function addServiceWorker(main: SiteServer): void {
  main.body(
    "/sw/page.html",
    html(`<script>
    const load = async () => {
      for (const path of ["passed.bin", "cached.bin", "made-up.json"]) await (await fetch(path)).arrayBuffer();
      parent.postMessage("service-worker", "*");
    };
    navigator.serviceWorker.register("worker.js").then(() => {
      if (navigator.serviceWorker.controller) load();
      else navigator.serviceWorker.oncontrollerchange = load;
    });
  </script>`),
  );
  main.body(
    "/sw/worker.js",
    script(`
    oninstall = (e) => e.waitUntil(caches.open("c").then((c) => c.add("cached.bin")).then(() => skipWaiting()));
    onactivate = (e) => e.waitUntil(clients.claim());
    onfetch = (e) => {
      if (e.request.url.endsWith("passed.bin")) e.respondWith(fetch(e.request));
      else if (e.request.url.endsWith("cached.bin")) e.respondWith(caches.match("cached.bin"));
      else if (e.request.url.endsWith("made-up.json"))
        e.respondWith(new Response('{"made":"up"}', { headers: { "content-type": "application/json" } }));
    };`),
  );
  main.body("/sw/passed.bin", binary(70, 55 * KB));
  main.body("/sw/cached.bin", binary(71, 65 * KB));
  main.expect("/sw/made-up.json", utf8('{"made":"up"}'));
}

/** Second visit with a cached image; then requests that race a navigation to another site. */
function addNavigation({ main, cross }: ConformanceServers): void {
  const races = Array.from({ length: 8 }, (_, i) => `/race-${i + 1}.bin`);
  races.forEach((path, i) => void main.body(path, binary(80 + i, (20 + i * 10) * KB)));
  const second = html(
    `<img src="/image-cached.bmp"><script>onload = () => {
       const all = ${JSON.stringify(races)}.map((path) => fetch(path).then((r) => r.arrayBuffer()));
       Promise.all(all).then(() => fetch("/raced"));
       location = "${cross.origin}/last.html";
     };</script>`,
  );
  main.body("/second.html", second);
  main.on("/second.html", async (_req, res) => {
    // A navigation would take a download with it that has not begun.
    await main.sent("/framed-download.bin");
    res.writeHead(200, { "content-type": second.mime });
    res.end(second.bytes);
  });
  cross.body(
    "/last.html",
    html('<img src="/last.bmp"><a href="/after" rel="nofollow">the end</a>'),
  );
  cross.body("/last.bmp", bmp(90, 20 * KB));
  main.on("/raced", (_req, res) => void res.writeHead(204).end());
  const last = html('<img src="/last.bmp"><a href="/after" rel="nofollow">the end</a>');
  cross.on("/last.html", async (_req, res) => {
    // The page has the racing bodies; whether they outlive it in the browser's buffers is what is tested.
    await main.sent("/raced");
    res.writeHead(200, { "content-type": last.mime });
    res.end(last.bytes);
  });
}

function indexPage({ cross, third }: ConformanceServers): string {
  return `
<script>
// Frames may be done before the rest of this page is there.
const told = new Map();
const word = (name) => {
  if (!told.has(name)) told.set(name, Promise.withResolvers());
  return told.get(name);
};
const when = (name) => word(name).promise;
onmessage = (e) => word(e.data).resolve();
</script>
<link rel="stylesheet" href="/style.css"><link rel="stylesheet" href="/utf16.css">
<link rel="preload" as="script" href="/preload.js"><link rel="icon" href="/favicon.ico">
<script src="/classic.js"></script><script src="/shift-jis.js"></script><script src="/preload.js"></script>
<script type="module" src="/module.js"></script>
<p>text in the font</p><a href="/about?x=1">About us</a><a href="https://example.com/" rel="noopener">Out</a>
${[1, 2, 3, 4, 5, 6].map((i) => `<img src="/image-${i}.bmp">`).join("")}
<img src="/picture.svg"><img src="/image-large.bmp"><img src="/image-cached.bmp">
<iframe src="/frame.html"></iframe><iframe srcdoc='<img src="/srcdoc.bmp">'></iframe>
<iframe src="${cross.origin}/frame.html"></iframe><iframe src="/sw/page.html"></iframe>
<video id="video" src="/video.mp4" preload="auto" muted></video><audio id="audio" src="/sound.ogg" preload="auto"></audio>
<script>
const bytes = (path, init) => fetch(path, init).then((r) => r.arrayBuffer());
const event = (id, name) => new Promise((resolve) => document.getElementById(id).addEventListener(name, resolve, { once: true }));
const seek = async (id) => {
  const media = document.getElementById(id);
  if (media.readyState < 1) await event(id, "loadedmetadata");
  media.currentTime = media.duration * 0.9;
  await event(id, "seeked");
};
const steps = [
  when("cross"), when("service-worker"), when("popup"), seek("video"), seek("audio"),
  new Promise((resolve) => addEventListener("load", resolve)),
  bytes("/gzip.json"), bytes("/brotli.json"), bytes("/zstd.json"), bytes("/large.bin"),
  bytes("/chunked-1.bin"), bytes("/chunked-2.bin"), bytes("/looks-like-base64.txt"),
  bytes("/bom.json"), bytes("/latin1.txt"), bytes("/broken-utf8.txt"), bytes("/redirect-1"),
  bytes("/post", { method: "POST", body: "x=1" }), fetch("/unread.bin"), fetch("/nothing"),
  fetch("/picture.svg", { method: "HEAD", cache: "no-store" }),
  bytes("${cross.origin}/api.json", { headers: { "x-custom": "1" } }),
  bytes("/ranged.bin", { headers: { range: "bytes=0-99999" } }),
  bytes("/ranged.bin", { headers: { range: "bytes=100000-" } }),
  fetch("/blob.bmp").then((r) => r.blob()).then((blob) => new Promise((resolve) => {
    const img = document.body.appendChild(new Image());
    img.onload = resolve;
    img.src = URL.createObjectURL(blob);
  })),
  fetch("/stream-read.bin").then(async (r) => {
    const reader = r.body.getReader();
    while (!(await reader.read()).done);
  }),
  new Promise((resolve) => {
    const xhr = new XMLHttpRequest();
    xhr.onload = resolve;
    xhr.open("GET", "/xhr.json");
    xhr.send();
  }),
  new Promise((resolve) => { new Worker("/worker.js").onmessage = resolve; }),
  new Promise((resolve) => { new SharedWorker("/shared.js").port.onmessage = resolve; }),
];
// The title of a visit that got stuck names the steps it got stuck on.
const left = new Set(steps.keys());
steps.forEach((step, i) => step.then(() => {
  left.delete(i);
  document.title = "Conformance: waiting for steps " + [...left].join();
}));
navigator.sendBeacon("/beacon", "b");
// Chromium drops what frames of other processes say to a page while it opens a window, when a debugger attaches to windows.
Promise.all([when("cross"), when("service-worker")]).then(() => open("${third.origin}/popup.html"));
const link = document.createElement("a");
link.href = "/download.bin";
link.download = "";
link.click();
document.body.appendChild(document.createElement("iframe")).src = "/framed-download.bin";
Promise.all(steps).then(() => fetch("/after-icon")).then(() => { location = "/second.html"; });
</script>`;
}
