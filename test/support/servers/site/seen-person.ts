import { type SiteServer, startServer } from "./server.ts";

/** A site whose documents and workers each tell what they see of the browser that opens them. */

const LOOK = `async () => {
  const number = new Intl.NumberFormat().format(1234.5);
  const hints = navigator.userAgentData
    ? await navigator.userAgentData.getHighEntropyValues(["platformVersion", "model", "fullVersionList"])
    : null;
  const media = (query) => (globalThis.matchMedia ? matchMedia(query).matches : null);
  const ask = (name) =>
    navigator.permissions.query({ name }).then(({ state }) => state, () => "unknown");
  // On a busy machine Chromium 156 left a query of a frame or a window that had just come without an answer in 3 of 460
  // visits; asked again, it answered every time.
  const may = (name) => new Promise((resolve) => {
    const again = setInterval(() => ask(name).then(answer), 2_000);
    const answer = (state) => {
      clearInterval(again);
      resolve(state);
    };
    ask(name).then(answer);
  });
  const place = globalThis.document && (await may("geolocation")) === "granted"
    ? await new Promise((resolve) => navigator.geolocation.getCurrentPosition(
        ({ coords: { latitude, longitude } }) => resolve([latitude, longitude]),
        ({ message }) => resolve(message)))
    : null;
  return {
    marked: globalThis.marked?.join() ?? null,
    width: globalThis.innerWidth ?? null,
    pixels: globalThis.devicePixelRatio ?? null,
    fingers: globalThis.document ? navigator.maxTouchPoints : null,
    coarse: media("(pointer: coarse)"),
    may: [await may("geolocation"), await may("notifications")].join(),
    place,
    user_agent: navigator.userAgent,
    platform: navigator.platform,
    language: navigator.language,
    languages: [...navigator.languages].join(),
    number,
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    offset: new Date(1700000000000).getTimezoneOffset(),
    hints,
    dark: media("(prefers-color-scheme: dark)"),
    sent: await (await fetch("/sent", { cache: "no-store" })).json(),
  };
}`;

/** What one place sees. `sent`: the headers of a request of its own. */
export interface SeenPerson {
  user_agent: string;
  platform: string;
  language: string;
  languages: string;
  number: string;
  timezone: string;
  offset: number;
  hints: {
    brands: { brand: string; version: string }[];
    mobile: boolean;
    platform: string;
    fullVersionList?: { brand: string; version: string }[];
  } | null;
  dark: boolean | null;
  /** What scripts of the browser's options have left. */
  marked: string | null;
  /** Null in workers, as are the others of the screen. */
  width: number | null;
  pixels: number | null;
  fingers: number | null;
  coarse: boolean | null;
  /** Geolocation and notifications: granted, prompt or denied. */
  may: string;
  /** Latitude and longitude. */
  place: [number, number] | string | null;
  sent: Record<string, string | undefined>;
}

export type Place =
  | "main"
  | "frame"
  | "far_frame"
  | "popup"
  | "blank_popup"
  | "worker"
  | "shared_worker"
  | "service_worker";

export type SeenPlaces = Record<Place, SeenPerson>;

const MAIN = `<!doctype html><title>waits</title><meta name="viewport" content="width=device-width">
<body><script type="module">
const look = ${LOOK};
// A job ends when the network is silent, and closes windows that have not told yet: this keeps it from silence.
fetch("/until-told").catch(() => {});
const seen = {};
const told = Promise.withResolvers();
const tell = async (place, what) => {
  seen[place] = await what;
  // Names those that have told, for the error of a visit that waits in vain for others.
  fetch("/seen?" + place, { method: "POST" }).catch(() => {});
  if (Object.keys(seen).length === 8) told.resolve();
};
addEventListener("message", ({ data }) => data.place && tell(data.place, data.seen));
const far = new URLSearchParams(location.search).get("far");
const blank = open("");
const now = { user_agent: blank.navigator.userAgent, language: blank.navigator.language,
  timezone: new blank.Intl.DateTimeFormat().resolvedOptions().timeZone };
tell("blank_popup", now);
blank.close();
tell("main", look());
for (const [place, origin] of [["frame", ""], ["far_frame", far]]) {
  const frame = document.createElement("iframe");
  frame.allow = "geolocation";
  frame.src = origin + "/part?place=" + place;
  document.body.append(frame);
}
open("/part?place=popup");
const dedicated = new Worker("/worker.js", { type: "module" });
dedicated.onmessage = ({ data }) => tell("worker", data);
const shared = new SharedWorker("/shared.js", { type: "module" });
shared.port.onmessage = ({ data }) => tell("shared_worker", data);
navigator.serviceWorker.onmessage = ({ data }) => tell("service_worker", data);
await navigator.serviceWorker.register("/service.js");
(await navigator.serviceWorker.ready).active.postMessage("look");
await told.promise;
document.title = "told";
globalThis.seen = seen;
await fetch("/told", { method: "POST", body: JSON.stringify(seen) });
</script>`;

/** What takes a busy machine seconds. */
const TOLD_MS = 60_000;

const PART = `<!doctype html><meta name="viewport" content="width=device-width"><script type="module">
const look = ${LOOK};
const place = new URLSearchParams(location.search).get("place");
(opener ?? parent).postMessage({ place, seen: await look() }, "*");
</script>`;

const SCRIPTS: Record<string, string> = {
  "/worker.js": `postMessage(await (${LOOK})());`,
  "/shared.js": `onconnect = async ({ ports: [port] }) => port.postMessage(await (${LOOK})());`,
  "/service.js": `addEventListener("message", (e) => e.waitUntil((async () => e.source.postMessage(await (${LOOK})()))()));`,
};

export interface PersonSite {
  /** The page that asks all places. */
  url: string;
  /** The headers of its document's last request. */
  asked(): Record<string, string | string[] | undefined>;
  /** What every request since the last `told` had under this name, by its path: of documents, scripts and all others. */
  sent(header: string): Record<string, (string | undefined)[]>;
  /** What a visit sees, once each place has told. Rejects after a minute, with what was asked for until then. */
  told(): Promise<SeenPlaces>;
  stop(): Promise<void>;
}

export async function startPersonSite(): Promise<PersonSite> {
  const [site, far] = await Promise.all([
    startServer("person.localhost"),
    startServer("127.0.0.1"),
  ]);
  let told = Promise.withResolvers<SeenPlaces>();
  for (const one of [site, far]) serve(one);
  const paths = () => [...site.hits, ...far.hits].map(({ path }) => path).join(" ");
  site.on("/seen", (_req, res) => void res.end());
  site.on("/until-told", async (_req, res) => {
    await told.promise.catch(() => {});
    res.end();
  });
  site.on("/told", async (req, res) => {
    const parts: Buffer[] = [];
    for await (const part of req) parts.push(part as Buffer);
    told.resolve(JSON.parse(Buffer.concat(parts).toString()) as SeenPlaces);
    res.end();
  });
  return {
    url: `${site.origin}/?far=${far.origin}`,
    asked: () => site.hits.findLast(({ path }) => path.startsWith("/?far"))?.headers ?? {},
    sent: (header) => {
      const sent: Record<string, (string | undefined)[]> = {};
      for (const { path, headers } of [...site.hits, ...far.hits])
        sent[path] = [...new Set([...(sent[path] ?? []), headers[header]?.toString()])];
      return sent;
    },
    told: () => {
      for (const { hits } of [site, far]) hits.length = 0;
      told = Promise.withResolvers();
      const { promise, reject } = told;
      const late = setTimeout(() => reject(new Error(`not every place told: ${paths()}`)), TOLD_MS);
      return promise.finally(() => clearTimeout(late));
    },
    stop: async () => void (await Promise.all([site.stop(), far.stop()])),
  };
}

function serve(site: SiteServer): void {
  const page = (path: string, text: string, type = "text/html") =>
    site.on(path, (_req, res) => {
      res.writeHead(200, { "content-type": type });
      res.end(text);
    });
  page("/", MAIN);
  page("/part", PART);
  for (const [path, text] of Object.entries(SCRIPTS)) page(path, text, "text/javascript");
  site.on("/sent", (req, res) => {
    res.writeHead(200, { "content-type": "application/json" });
    res.end(JSON.stringify(req.headers));
  });
}
