import { startServer } from "./server.ts";

export interface RefusedSite {
  url: string;
  /** Bodies that the network gives to somebody, by path. */
  readable: Map<string, string>;
  /** Bodies that stay in the network process. */
  withheld: string[];
  origins: { main: string; cross: string };
  stop(): Promise<void>;
}

/** A page that is refused things in every way, and refuses things itself: each answer has a body. */
export async function startRefusedSite(): Promise<RefusedSite> {
  const main = await startServer("main.localhost");
  const cross = await startServer("cross.localhost");
  const readable = new Map<string, string>();
  const answer = (
    server: typeof main,
    path: string,
    status: number,
    headers: Record<string, string> = {},
  ) => {
    const text = `the body of ${path}`;
    server.on(path, (_req, res) => {
      res.writeHead(status, {
        "content-type": "text/html",
        "content-length": text.length,
        ...headers,
      });
      res.end(text);
    });
    return { url: server.origin + path, text };
  };
  const reads = (...args: Parameters<typeof answer>) => {
    const { url, text } = answer(...args);
    readable.set(url, text);
  };
  for (const path of [
    "/module.js",
    "/style.css",
    "/font.woff2",
    "/image.png",
    "/worker.js",
    "/object",
  ])
    reads(main, path, 404);
  reads(main, "/forbidden", 403);
  reads(main, "/broken", 500);
  reads(main, "/unauthorised", 401);
  answer(main, "/password", 401, { "www-authenticate": 'Basic realm="here"' });
  reads(main, "/data", 500);
  reads(main, "/beacon", 200);
  reads(main, "/framed", 200, { "x-frame-options": "DENY" });
  reads(cross, "/framed", 200, { "x-frame-options": "DENY" });
  reads(cross, "/opaque", 200);
  const withheld = [
    answer(cross, "/module.js", 404),
    answer(cross, "/no-cors", 200),
    answer(cross, "/blocked.json", 200, {
      "content-type": "application/json",
      "x-content-type-options": "nosniff",
    }),
  ].map(({ url }) => url);
  main.on("/empty", (_req, res) => void res.writeHead(500, { "content-length": 0 }).end());
  main.on("/nothing", (_req, res) => void res.writeHead(204).end());
  main.on("/favicon.ico", (_req, res) => void res.writeHead(204).end());
  main.on("/", (_req, res) => {
    res.writeHead(200, { "content-type": "text/html" });
    res.end(page(cross.origin));
  });
  return {
    url: `${main.origin}/`,
    readable,
    withheld,
    origins: { main: main.origin, cross: cross.origin },
    stop: async () => {
      await Promise.all([main.stop(), cross.stop()]);
    },
  };
}

const page = (cross: string) => `<!doctype html><title>refused</title>
<style>@font-face{font-family:F;src:url(/font.woff2)} p{font-family:F}</style><p>text</p>
<link rel="stylesheet" href="/style.css"><img src="/image.png"><object data="/object"></object>
<script type="module" src="/module.js"></script>
<script type="module" crossorigin src="${cross}/module.js"></script>
<script src="${cross}/blocked.json"></script>
<iframe src="/forbidden"></iframe><iframe src="/broken"></iframe><iframe src="/unauthorised"></iframe>
<iframe src="/framed"></iframe><iframe src="${cross}/framed"></iframe>
<script>
  new Worker("/worker.js");
  fetch("/data"); fetch("/empty"); fetch("/nothing");
  fetch("${cross}/opaque", { mode: "no-cors" });
  fetch("${cross}/no-cors").catch(() => {});
  navigator.sendBeacon("/beacon", "x");
</script>`;
