import { seededBmp } from "./bytes.ts";
import { type SiteServer, startServer } from "./server.ts";

/** Pages for recipes to act on. */
export interface RecipeSite {
  origin: string;
  server: SiteServer;
  /** What pages have reported to `/say?text=…`, since the last call. */
  said(): string[];
  stop(): Promise<void>;
}

const page = (title: string, body: string): string =>
  `<!doctype html>\n<html><head><title>${title}</title></head><body>${body}</body></html>\n`;

const FORM = `<input id="name"><input id="other">
<button id="more">more</button><div style="height: 3000px"></div>
<script>
  document.querySelector("#more").onclick = () => {
    const [name, other] = document.querySelectorAll("input");
    globalThis.clicked_at = performance.now();
    document.title = "Form " + name.value + "/" + other.value;
    fetch("/say?text=" + encodeURIComponent(name.value + "/" + other.value));
    for (const i of [1, 2]) document.body.append(Object.assign(new Image(), { src: "/picture-" + i + ".bmp" }));
  };
  addEventListener("pagehide", () => navigator.sendBeacon("/say?text=" + encodeURIComponent(document.title)));
</script>`;

const POPUPS = `<button id="open" onclick="window.open('/popup?by=script')">open</button>
<a id="blank" target="_blank" href="/popup?by=link">link</a>
<button id="empty" onclick="window.open('').document.title = 'empty'">empty</button>`;

const PAGES: Record<string, string> = {
  "/form": page("Form", FORM),
  "/end": page("End", "the end"),
  "/popups": page("Popups", POPUPS),
  "/popup": page("Popup", '<img src="/picture-1.bmp">'),
  "/covered": page(
    "Covered",
    `<button id="under">under</button><button id="off" disabled>off</button><p id="unseen" hidden>x</p><input id="field">
     <div style="position: fixed; inset: 0"></div>`,
  ),
};

export async function startRecipeSite(): Promise<RecipeSite> {
  const server = await startServer("127.0.0.1");
  let said: string[] = [];
  for (const [path, html] of Object.entries(PAGES))
    server.body(path, { mime: "text/html", bytes: new TextEncoder().encode(html), extra: true });
  for (const i of [1, 2])
    server.body(`/picture-${i}.bmp`, { mime: "image/bmp", bytes: seededBmp(i, 90_000 * i) });
  server.on("/say", (_req, res, url) => {
    said.push(url.searchParams.get("text") ?? "");
    res.writeHead(204);
    res.end();
  });
  return {
    origin: server.origin,
    server,
    said: () => {
      const all = said;
      said = [];
      return all;
    },
    stop: server.stop,
  };
}
