import { makeOwnKey } from "#worker/replay/certificate.ts";

/** A site over HTTPS that changes with every request, and counts them. */
export interface ReplaySite {
  origin: string;
  /** How many requests came so far. */
  count(): number;
  stop(): Promise<void>;
}

const SECONDS = 2;
const RATE = 8_000;

/** A tone, as PCM of eight bits. */
function wav(): Uint8Array<ArrayBuffer> {
  const bytes = Buffer.alloc(44 + SECONDS * RATE);
  bytes.write("RIFF", 0);
  bytes.writeUInt32LE(bytes.length - 8, 4);
  bytes.write("WAVEfmt ", 8);
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(1, 22);
  bytes.writeUInt32LE(RATE, 24);
  bytes.writeUInt32LE(RATE, 28);
  bytes.writeUInt16LE(1, 32);
  bytes.writeUInt16LE(8, 34);
  bytes.write("data", 36);
  bytes.writeUInt32LE(SECONDS * RATE, 40);
  for (let i = 44; i < bytes.length; i += 1) bytes[i] = 128 + Math.round(60 * Math.sin(i / 4));
  return new Uint8Array(bytes);
}

const PAGE = `<!doctype html><title>loading</title><h1>Now</h1>
<script>
const text = async (url, init) => (await fetch(url, init)).text();
const post = (body) => text("/echo", { method: "POST", body });
const play = () => new Promise((resolve) => {
  const audio = new Audio("/tone.wav");
  audio.oncanplaythrough = () => resolve(audio.duration);
  audio.onerror = () => resolve("no audio");
});
const worker = async () => {
  await navigator.serviceWorker.register("/sw.js");
  await navigator.serviceWorker.ready;
  if (!navigator.serviceWorker.controller)
    await new Promise((ready) => navigator.serviceWorker.addEventListener("controllerchange", ready));
  return text("/by-worker");
};
const form = () => {
  const data = new FormData();
  data.set("field", "value");
  return text("/form", { method: "POST", body: data });
};
(async () => {
  const facts = {
    secure: isSecureContext,
    first: await text("/count"),
    second: await text("/count"),
    busted: await text("/data.json?_=" + Date.now()),
    one: await post("one"),
    two: await post("two"),
    form: await form(),
    moved: await text("/old"),
    compressed: (await text("/compressed")).length,
    part: await text("/letters", { headers: { range: "bytes=2-4" } }),
    seconds: await play(),
    worker: await worker(),
  };
  document.querySelector("h1").textContent = JSON.stringify(facts);
  document.title = "done";
})().catch((err) => { document.title = String(err); });
</script><a href="/elsewhere" id="out">out</a>`;

const WORKER = `
self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(clients.claim()));
self.addEventListener("fetch", (event) => {
  if (new URL(event.request.url).pathname === "/clock") return event.respondWith(new Response(Date.now()));
  if (new URL(event.request.url).pathname !== "/by-worker") return;
  event.respondWith(fetch("/for-worker").then(async (r) => new Response("worker: " + await r.text())));
});`;

const html = { "content-type": "text/html" };

/** Starts it on a free port of 127.0.0.1, with a certificate that nobody trusts. */
export function startReplaySite(): ReplaySite {
  const { key, cert } = makeOwnKey(Date.now());
  const tone = wav();
  let total = 0;
  let counted = 0;
  let posted = 0;
  const answer = async (request: Request): Promise<Response> => {
    total += 1;
    const { pathname } = new URL(request.url);
    switch (pathname) {
      case "/":
        return new Response(null, { status: 302, headers: { location: "/page" } });
      case "/page":
        return new Response(PAGE, { headers: html });
      case "/count":
        counted += 1;
        return new Response(`count ${counted}`, { headers: { "cache-control": "no-store" } });
      case "/data.json":
        return Response.json({ from: "the site" });
      case "/echo":
        posted += 1;
        return new Response(`${await request.text()} as ${posted}`);
      case "/form":
        return new Response((await request.formData()).get("field")?.toString() ?? "");
      case "/old":
        return new Response(null, { status: 301, headers: { location: "/new" } });
      case "/new":
        return new Response("moved here");
      case "/compressed":
        return new Response(Bun.gzipSync(Buffer.from("a".repeat(50_000))), {
          headers: { "content-encoding": "gzip", "content-type": "text/plain" },
        });
      case "/letters": {
        const headers = { "content-range": "bytes 2-4/26", "content-type": "text/plain" };
        return new Response("cde", { status: 206, headers });
      }
      case "/tone.wav":
        return ranged(request, tone);
      case "/sw.js":
        return new Response(WORKER, { headers: { "content-type": "text/javascript" } });
      case "/for-worker":
        return new Response("from the site");
      default:
        return new Response("not here", { status: 404 });
    }
  };
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", tls: { key, cert }, fetch: answer });
  return {
    origin: `https://127.0.0.1:${server.port}`,
    count: () => total,
    stop: () => server.stop(true),
  };
}

function ranged(request: Request, bytes: Uint8Array<ArrayBuffer>): Response {
  const type = { "content-type": "audio/wav", "accept-ranges": "bytes" };
  const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.get("range") ?? "") ?? [];
  if (from === undefined) return new Response(bytes, { headers: type });
  const end = to ? Number(to) : bytes.length - 1;
  const range = `bytes ${from}-${end}/${bytes.length}`;
  const part = bytes.slice(Number(from), end + 1);
  return new Response(part, { status: 206, headers: { ...type, "content-range": range } });
}
