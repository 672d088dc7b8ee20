import { seededBmp, utf8 } from "./bytes.ts";
import { type Handler, type SiteServer, startServer } from "./server.ts";

const PICTURES = 6;

export interface ChaosSite {
  site: SiteServer;
  /** The page of job `n`: every third one is a real page, the others are words and nothing else. */
  urlOf(n: number): string;
  /** How many bodies a visit of it receives at least. */
  bodiesOf(n: number): number;
  /** How often each page was asked for. */
  loads: Map<number, number>;
}

/** Pages that tell how often they were opened. A real one has a style sheet, a script that fetches data, and pictures. */
export async function startChaosSite(): Promise<ChaosSite> {
  const site = await startServer("127.0.0.1");
  const loads = new Map<number, number>();
  const page =
    (body: string): Handler =>
    (_req, res, url) => {
      const n = url.searchParams.get("n");
      if (n !== null) loads.set(Number(n), (loads.get(Number(n)) ?? 0) + 1);
      res.writeHead(200, { "content-type": "text/html; charset=utf-8" });
      res.end(`<!doctype html><title>chaos</title><link rel=icon href=data:,>${body}`);
    };
  const pictures = Array.from({ length: PICTURES }, (_, i) => `<img src="/picture${i}.bmp">`);
  site.on("/", page("<p>words"));
  site.on(
    "/real",
    page(
      `<link rel=stylesheet href="/style.css"><script src="/script.js"></script>${pictures.join("")}`,
    ),
  );
  site.body("/style.css", { mime: "text/css", bytes: utf8("img { width: 100px }") });
  site.body("/script.js", {
    mime: "text/javascript",
    bytes: utf8("fetch('/data.json').then((answer) => answer.json())"),
  });
  site.body("/data.json", { mime: "application/json", bytes: utf8('{"words":["a","b"]}') });
  for (let i = 0; i < PICTURES; i += 1)
    site.body(`/picture${i}.bmp`, { mime: "image/bmp", bytes: seededBmp(i + 1, 30_000) });
  const isReal = (n: number) => n % 3 === 0;
  return {
    site,
    loads,
    urlOf: (n) => `${site.origin}/${isReal(n) ? "real" : ""}?n=${n}`,
    bodiesOf: (n) => (isReal(n) ? PICTURES + 4 : 1),
  };
}
