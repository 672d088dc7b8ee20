import { deflateSync } from "node:zlib";
import { byteRangeOf } from "#shared/kit/byte-range.ts";
import { TRAIL } from "./trail.ts";

/**
 * The bundled demo page: one of everything that a browser downloads while a page opens, small and deterministic, so
 * that a first fetch job has something to show without a network.
 */

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Flotilla demo page</title>
<link rel="icon" href="icon.svg">
<link rel="stylesheet" href="style.css">
</head>
<body>
<h1>Flotilla demo page</h1>
<p>Two images, a style sheet, a script, the data it fetches, a sound, a frame and a link.</p>
<img src="gradient.png" alt="a gradient" width="240" height="160">
<img src="waves.svg" alt="waves" width="240" height="160">
<p><audio src="tone.wav" preload="auto" controls></audio></p>
<pre id="data">…</pre>
<iframe src="frame.html" title="a frame" width="480" height="120"></iframe>
<p><a href="https://www.example.com/">A link</a> that is recorded, not followed.</p>
<script src="app.js"></script>
</body>
</html>
`;

const FRAME = `<!doctype html>
<meta charset="utf-8">
<title>A frame</title>
<p>This frame has its own image:</p>
<img src="squares.png" alt="squares" width="96" height="48">
`;

const STYLE = `body { font-family: sans-serif; margin: 2rem; background: url(paper.png); }
h1 { color: #205080; }
`;

const SCRIPT = `const answer = await fetch("data.json");
document.getElementById("data").textContent = JSON.stringify(await answer.json(), null, 2);
`;

const svg = (body: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 240 160">${body}</svg>\n`;
const WAVES = svg(
  [0, 1, 2, 3]
    .map(
      (i) =>
        `<path d="M0 ${40 + i * 28} q30 -24 60 0 t60 0 t60 0 t60 0" fill="none" stroke="#2070${9 + i}0" stroke-width="6"/>`,
    )
    .join(""),
);
const ICON = svg(`<circle cx="120" cy="80" r="70" fill="#205080"/>`);

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(Bun.hash.crc32(body), body.length + 4);
  return out;
}

/** An RGB PNG; `paint` gives its pixels. */
function png(
  width: number,
  height: number,
  paint: (x: number, y: number) => [number, number, number],
): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const rows = Buffer.alloc(height * (1 + width * 3));
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1) rows.set(paint(x, y), y * (1 + width * 3) + 1 + x * 3);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", new Uint8Array()),
  ]);
}

/** Half a second of a 440 Hz tone, 8 kHz, 16 bit, mono. */
function tone(): Uint8Array {
  const samples = 4_000;
  const out = Buffer.alloc(44 + samples * 2);
  out.write("RIFF", 0, "latin1");
  out.writeUInt32LE(36 + samples * 2, 4);
  out.write("WAVEfmt ", 8, "latin1");
  out.writeUInt32LE(16, 16);
  out.writeUInt16LE(1, 20);
  out.writeUInt16LE(1, 22);
  out.writeUInt32LE(8_000, 24);
  out.writeUInt32LE(16_000, 28);
  out.writeUInt16LE(2, 32);
  out.writeUInt16LE(16, 34);
  out.write("data", 36, "latin1");
  out.writeUInt32LE(samples * 2, 40);
  for (let i = 0; i < samples; i += 1)
    out.writeInt16LE(Math.round(8_000 * Math.sin((2 * Math.PI * 440 * i) / 8_000)), 44 + i * 2);
  return out;
}

interface DemoFile {
  type: string;
  body: () => string | Uint8Array;
}

const page = (text: string): DemoFile => ({ type: "text/html; charset=utf-8", body: () => text });

const FILES: Record<string, DemoFile> = {
  "": page(PAGE),
  "frame.html": page(FRAME),
  ...Object.fromEntries([...TRAIL].map(([name, text]) => [`trail/${name}`, page(text)])),
  "style.css": { type: "text/css", body: () => STYLE },
  "app.js": { type: "text/javascript", body: () => `(async () => {\n${SCRIPT}})();\n` },
  "data.json": {
    type: "application/json",
    body: () => JSON.stringify({ product: "flotilla", lanes: 2, passive: true }),
  },
  "icon.svg": { type: "image/svg+xml", body: () => ICON },
  "waves.svg": { type: "image/svg+xml", body: () => WAVES },
  "gradient.png": {
    type: "image/png",
    body: () => png(240, 160, (x, y) => [x, y, 255 - x]),
  },
  "squares.png": {
    type: "image/png",
    body: () =>
      png(96, 48, (x, y) => (((x >> 3) + (y >> 3)) % 2 ? [32, 80, 128] : [240, 240, 240])),
  },
  "paper.png": {
    type: "image/png",
    body: () => png(32, 32, (x, y) => [250, 250, 246 - ((x * y) % 7)]),
  },
  "tone.wav": { type: "audio/wav", body: tone },
};

/** Answers a request below `/demo/`; null for any other path. */
export function serveDemo(request: Request): Response | null {
  const { pathname } = new URL(request.url);
  if (pathname !== "/demo" && !pathname.startsWith("/demo/")) return null;
  if (pathname === "/demo")
    return new Response(null, { status: 308, headers: { location: "/demo/" } });
  const name = pathname.slice("/demo/".length);
  const file = Object.hasOwn(FILES, name) ? FILES[name] : undefined;
  if (!file) return new Response("not found\n", { status: 404 });
  const body = file.body();
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  return partOf(request, bytes, file.type);
}

/** Media elements ask for ranges; one range is enough for them. */
function partOf(request: Request, bytes: Uint8Array, type: string): Response {
  const headers: Record<string, string> = { "content-type": type, "accept-ranges": "bytes" };
  const range = byteRangeOf(request.headers.get("range"), bytes.length);
  if (range === null) return new Response(Buffer.from(bytes), { headers });
  if (range === "outside")
    return new Response(null, {
      status: 416,
      headers: { "content-range": `bytes */${bytes.length}` },
    });
  const { start, end } = range;
  headers["content-range"] = `bytes ${start}-${end}/${bytes.length}`;
  return new Response(Buffer.from(bytes.subarray(start, end + 1)), { status: 206, headers });
}
