import { seededBmp, seededBytes, utf8 } from "./bytes.ts";
import { type SiteServer, startServer } from "./server.ts";

export interface BenchSite {
  /** A page of 60 resources: styles, scripts, JSON, pictures of 1 to 200 KB. */
  sixty: string;
  /** A page of 300 small pictures. */
  pictures: string;
  /** A page that fetches 200 bodies of 5 MB, one after the other: 1 GB in all. */
  gigabyte: string;
  server: SiteServer;
  stop(): Promise<void>;
}

const KB = 1024;

/** Pages for benchmarks; their answers may not be cached, so that every visit is the first. */
export async function startBenchSite(): Promise<BenchSite> {
  const server = await startServer("127.0.0.1");
  const headers = { "cache-control": "no-store" };
  const put = (path: string, mime: string, bytes: Uint8Array) =>
    server.body(path, { mime, bytes, headers });
  const html = (body: string) => utf8(`<!doctype html><title>Bench</title>${body}`);
  const tags: string[] = [];
  for (let i = 0; i < 10; i += 1) {
    put(`/style-${i}.css`, "text/css", utf8(`.c${i}{color:#12${i}}${" ".repeat(i * 2 * KB)}`));
    put(`/script-${i}.js`, "text/javascript", utf8(`globalThis.s${i}=1;${" ".repeat(i * 8 * KB)}`));
    put(
      `/data-${i}.json`,
      "application/json",
      utf8(JSON.stringify(Buffer.from(seededBytes(i + 1, (i + 1) * 2 * KB)).toString("hex"))),
    );
    tags.push(
      `<link rel="stylesheet" href="/style-${i}.css"><script src="/script-${i}.js"></script>`,
    );
    tags.push(`<script>fetch("/data-${i}.json").then((r) => r.json())</script>`);
  }
  for (let i = 0; i < 29; i += 1) {
    put(`/picture-${i}.bmp`, "image/bmp", seededBmp(i + 100, (1 + i * 7) * KB));
    tags.push(`<img src="/picture-${i}.bmp" width="20" height="20">`);
  }
  put("/sixty", "text/html", html(tags.join("\n")));
  const small = Array.from({ length: 300 }, (_, i) => {
    put(`/small-${i}.bmp`, "image/bmp", seededBmp(i + 200, 4 * KB));
    return `<img src="/small-${i}.bmp" width="20" height="20">`;
  });
  put("/pictures", "text/html", html(small.join("")));
  put("/five.bin", "application/octet-stream", seededBytes(7, 5 * KB * KB));
  put(
    "/gigabyte",
    "text/html",
    html(
      `<script>(async () => { for (let i = 0; i < 200; i++) await (await fetch("/five.bin?" + i)).arrayBuffer(); })()</script>`,
    ),
  );
  return {
    sixty: `${server.origin}/sixty`,
    pictures: `${server.origin}/pictures`,
    gigabyte: `${server.origin}/gigabyte`,
    server,
    stop: server.stop,
  };
}
