import type { ServerResponse } from "node:http";
import { seededBmp, seededBytes, utf8 } from "./bytes.ts";
import { drained, type ExpectedBody, type SiteServer, startServer } from "./server.ts";

const KB = 1024;
const MB = 1024 * KB;

export interface TroubleSite {
  origin: string;
  server: SiteServer;
  /** Opens what waits for the test: `/gated…` answers go on. */
  openGate(): void;
  image: ExpectedBody;
  stop(): Promise<void>;
}

/** Its icon is in it: Chromium asks for one when it likes, which may be after the job. */
const page = (body: string): string =>
  `<!doctype html>\n<html><head><title>Trouble</title><link rel=icon href=data:,></head><body>${body}</body></html>\n`;

/** Pages on which jobs go wrong, one path each. */
export async function startTroubleSite(): Promise<TroubleSite> {
  const server = await startServer("127.0.0.1");
  const gate = Promise.withResolvers<void>();
  server.body("/image.bmp", { mime: "image/bmp", bytes: seededBmp(1, 40 * KB) });
  const [image] = server.expected;
  if (!image) throw new Error("no image");
  addPages(server);
  addAnswers(server, gate.promise);
  addStreams(server);
  return {
    origin: server.origin,
    server,
    openGate: () => gate.resolve(),
    image,
    stop: async () => {
      gate.resolve();
      await server.stop();
    },
  };
}

function addPages(server: SiteServer): void {
  const pages: Record<string, string> = {
    "/plain": '<img src="/image.bmp"><a href="/next#part">Next</a><a href="mailto:a@b.c">Mail</a>',
    "/alerts":
      '<img src="/image.bmp"><script>onload = () => { for (;;) alert("again"); };</script>',
    "/asks": '<script>alert("a"); document.title = confirm("b") + " " + prompt("c");</script>',
    "/unload":
      '<script>onbeforeunload = (e) => e.preventDefault(); onload = () => { location = "/plain"; };</script>',
    "/busy":
      '<img src="/image.bmp"><script>onload = () => setTimeout(() => { for (;;); }, 200);</script>',
    "/waits": '<img src="/image.bmp" onload="fetch(\'/silent\')">',
    "/to-silence": '<img src="/image.bmp" onload="location = \'/silent\'">',
    "/events-page":
      '<script>new EventSource("/events").onmessage = (e) => { document.title = e.data; };</script>',
    "/camera-page": '<img src="/camera">',
    "/large-page":
      '<script>fetch("/large" + location.search).then(async (r) => { for (const reader = r.body.getReader(); !(await reader.read()).done;); document.title = "read"; });</script>',
    "/cut-page": `<script>fetch("/cut").then(async (r) => { for (let n = 0, reader = r.body.getReader(); ; ) { n += (await reader.read()).value.length; if (n === ${MB}) fetch("/cut-now"); } }).catch((e) => { document.title = e.name; });</script>`,
    "/head-page":
      '<script>Promise.all([fetch("/image.bmp", { method: "HEAD" }), fetch("/no-content"), fetch("/empty")]).then(() => { document.title = "done"; });</script>',
    "/many": Array.from({ length: 12 }, (_, i) => `<img src="/block-${i}.bmp">`).join(""),
    "/scroll": '<div style="height:6000px"></div><img loading="lazy" src="/image.bmp">',
    "/popups": '<script>open("/plain"); open("/asks");</script>',
    "/sized": '<img src="/image.bmp"><script src="/tiny.js"></script>',
    "/half-ranged":
      '<script>fetch("/ranged.bin", { headers: { range: "bytes=1000-1999" } }).then((r) => r.arrayBuffer());</script>',
    "/svg-links":
      '<base href="/base/"><a href="rel?x#y">Rel</a><svg><a href="/svg"><text>Svg</text></a></svg><a href="rel?x#y">twice</a><iframe srcdoc="<a href=/inner>Inner</a>"></iframe>',
  };
  for (const [path, body] of Object.entries(pages))
    server.body(path, { mime: "text/html", bytes: utf8(page(body)), extra: true });
  const ranged = { mime: "application/octet-stream", bytes: seededBytes(3, 9000), ranges: true };
  server.body("/ranged.bin", { ...ranged, extra: true });
  server.body("/tiny.js", { mime: "text/javascript", bytes: utf8("1;"), extra: true });
  for (let i = 0; i < 12; i += 1)
    server.body(`/block-${i}.bmp`, { mime: "image/bmp", bytes: seededBmp(i, MB), extra: true });
}

function addAnswers(server: SiteServer, gate: Promise<void>): void {
  const answer =
    (status: number, headers: Record<string, string>, body = "") =>
    (_req: unknown, res: ServerResponse) => {
      res.writeHead(status, headers);
      res.end(body);
    };
  server.on("/loop", answer(302, { location: "/loop" }));
  server.on("/no-content", answer(204, {}));
  server.on("/empty", answer(200, { "content-type": "text/plain" }));
  server.on("/missing", answer(404, { "content-type": "text/html" }, page("<h1>not found</h1>")));
  server.on("/broken", answer(500, { "content-length": "0" }));
  server.on(
    "/login",
    answer(
      401,
      { "www-authenticate": 'Basic realm="r"', "content-type": "text/html" },
      page("<h1>login</h1>"),
    ),
  );
  server.on("/silent", () => {});
  server.on("/referer", (req, res) => {
    res.writeHead(200, { "content-type": "text/html" });
    res.end(page(`<p>${req.headers.referer ?? "none"}</p>`));
  });
  server.on("/redirect", (_req, res, url) => {
    res.writeHead(302, { location: url.searchParams.get("to") ?? "/" });
    res.end();
  });
  server.on("/embed", (_req, res, url) => {
    const to = url.searchParams.get("to") ?? "";
    const tag = url.searchParams.get("as") === "img" ? "img" : "iframe";
    res.writeHead(200, { "content-type": "text/html" });
    res.end(page(`<${tag} src="${to}"></${tag}>`));
  });
  server.body("/file.zip", {
    mime: "application/zip",
    bytes: seededBytes(5, 3 * MB),
    headers: { "content-disposition": 'attachment; filename="archive.zip"' },
    extra: true,
  });
  server.on("/gated.zip", async (_req, res) => {
    const bytes = seededBytes(6, MB);
    res.writeHead(200, {
      "content-type": "application/zip",
      "content-length": String(bytes.length),
      "content-disposition": "attachment",
    });
    res.write(bytes.subarray(0, MB / 2));
    await gate;
    res.end(bytes.subarray(MB / 2));
  });
}

function addStreams(server: SiteServer): void {
  const drip = async (res: ServerResponse, piece: (n: number) => Uint8Array | string) => {
    for (let n = 0; !res.destroyed; n += 1) {
      if (!res.write(piece(n))) await drained(res);
      await Bun.sleep(50);
    }
  };
  server.on("/endless", async (_req, res) => {
    res.writeHead(200, { "content-type": "text/html" });
    res.write("<!doctype html><html><head><title>Endless</title></head><body>");
    await drip(res, (n) => `<p>${n}</p>`);
  });
  server.on("/events", async (_req, res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    await drip(res, (n) => `data: ${n}\n\n`);
  });
  server.on("/camera", async (_req, res) => {
    res.writeHead(200, { "content-type": "multipart/x-mixed-replace; boundary=frame" });
    const frame = Buffer.from(seededBmp(9, 5 * KB));
    const head = `--frame\r\ncontent-type: image/bmp\r\ncontent-length: ${frame.length}\r\n\r\n`;
    await drip(res, () => Buffer.concat([Buffer.from(head), frame, Buffer.from("\r\n")]));
  });
  server.on("/large", async (_req, res, url) => {
    const size = Number(url.searchParams.get("mb") ?? 1024) * MB;
    const block = seededBytes(7, MB);
    res.writeHead(200, {
      "content-type": "application/octet-stream",
      "content-length": String(size),
    });
    for (let sent = 0; sent < size && !res.destroyed; sent += MB)
      if (!res.write(block)) await drained(res);
    res.end();
  });
  let cut = () => {};
  server.on("/cut", async (_req, res) => {
    res.writeHead(200, {
      "content-type": "application/octet-stream",
      "content-length": String(2 * MB),
    });
    // A busy browser may drop what it had not read yet when the connection breaks.
    cut = () => res.socket?.end();
    if (!res.write(seededBytes(8, MB))) await drained(res);
  });
  server.on("/cut-now", (_req, res) => {
    res.writeHead(204).end();
    cut();
  });
}
