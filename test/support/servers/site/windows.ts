import { seededBmp, utf8 } from "./bytes.ts";
import { type ExpectedBody, type SiteServer, startServer } from "./server.ts";

/** Messages of each speaker. */
export const MESSAGES = 400;
/** Of each kind of window. */
export const ROUNDS = 3;

/** What the page says happened to it. */
export interface Account {
  /** Messages by speaker, and whether they came in order. */
  heard: Record<string, { count: number; in_order: boolean }>;
  /** What each window said of itself. */
  windows: Record<string, { opened: boolean; had_opener: boolean; order: string }>;
}

export interface WindowSite {
  url: string;
  expected: ExpectedBody[];
  /** Resolves with the next account that the page gives. */
  account(): Promise<Account>;
  stop(): Promise<void>;
}

const KINDS = ["same", "cross", "redirected", "noopener", "written", "blob"];

/**
 * A page that opens windows of all kinds while frames of other sites and workers talk to it, and that tells what it heard.
 * Each window loads a picture of its own.
 */
export async function startWindowSite(): Promise<WindowSite> {
  const main = await startServer("main.localhost");
  const cross = await startServer("cross.localhost");
  let next = Promise.withResolvers<Account>();
  main.body("/", { mime: "text/html", bytes: utf8(page(main, cross)) });
  main.on("/account", async (req, res) => {
    const parts: Buffer[] = [];
    for await (const part of req) parts.push(part as Buffer);
    res.writeHead(204).end();
    next.resolve(JSON.parse(Buffer.concat(parts).toString()) as Account);
  });
  main.body("/favicon.ico", { mime: "image/bmp", bytes: seededBmp(1, 1_000), extra: true });
  cross.body("/favicon.ico", { mime: "image/bmp", bytes: seededBmp(1, 1_000), extra: true });
  for (const server of [main, cross])
    server.body("/frame.html", { mime: "text/html", bytes: utf8(`<script>${FRAME}</script>`) });
  main.body("/worker.js", { mime: "text/javascript", bytes: utf8(WORKER) });
  main.body("/shared.js", { mime: "text/javascript", bytes: utf8(SHARED) });
  addWindows(main, cross);
  return {
    url: `${main.origin}/`,
    expected: [...main.expected, ...cross.expected],
    account: () => {
      main.forget();
      next = Promise.withResolvers();
      return next.promise;
    },
    stop: async () => {
      await Promise.all([main.stop(), cross.stop()]);
    },
  };
}

/** Their addresses differ, so that each is a body of its own. */
function addWindows(main: SiteServer, cross: SiteServer): void {
  for (const kind of KINDS)
    for (let round = 0; round < ROUNDS; round += 1) {
      const name = `${kind}-${round}`;
      const server = kind === "cross" ? cross : main;
      server.body(`/${name}.bmp`, { mime: "image/bmp", bytes: seededBmp(7, 2_000 + name.length) });
      if (kind === "written" || kind === "blob") continue;
      const bytes = utf8(
        `<title>${name}</title><img src="/${name}.bmp"><script>${WINDOW}</script>`,
      );
      server.body(`/${name}.html`, { mime: "text/html", bytes });
      if (kind === "redirected")
        server.on(`/to-${name}`, (_req, res) => {
          res.writeHead(302, { location: `/${name}.html` }).end();
        });
    }
}

/** What is said is numbered, so that a gap shows. */
const SAY = `let n = 0; const timer = setInterval(() => {
  for (let k = 0; k < 2 && n < ${MESSAGES}; k += 1) say(n++);
  if (n >= ${MESSAGES}) clearInterval(timer);
}, 4);`;
const FRAME = `const say = (n) => parent.postMessage({ from: "frame of " + location.hostname, n }, "*"); ${SAY}`;
const WORKER = `const say = (n) => postMessage({ from: "worker", n }); ${SAY}`;
const SHARED = `onconnect = (e) => { const say = (n) => e.ports[0].postMessage({ from: "shared worker", n }); ${SAY} };`;
/** A window without an opener speaks through the channel. */
const WINDOW = `const told = { window: document.title, had_opener: opener !== null };
  if (opener) opener.postMessage(told, "*"); else new BroadcastChannel("windows").postMessage(told);`;

const page = (main: SiteServer, cross: SiteServer) => `<!doctype html><title>windows</title>
<script>
  fetch("${main.openUntil("/account")}").then((answer) => answer.text());
  const heard = {}, windows = {}, last = {};
  const hear = ({ data }) => {
    if (data?.from) {
      const said = (heard[data.from] ??= { count: 0, in_order: true });
      said.in_order &&= data.n > (last[data.from] ?? -1);
      last[data.from] = data.n;
      said.count += 1;
    }
    if (data?.window) Object.assign(windows[data.window], { had_opener: data.had_opener, order: windows[data.window].order + " told" });
  };
  addEventListener("message", hear);
  new BroadcastChannel("windows").onmessage = hear;
</script>
<iframe src="/frame.html"></iframe><iframe src="${cross.origin}/frame.html"></iframe>
<script>
  new Worker("/worker.js").onmessage = hear;
  new SharedWorker("/shared.js").port.onmessage = hear;
  const made = (name) => '<title>' + name + '</title><img src="${main.origin}/' + name + '.bmp"><script>${WINDOW.replaceAll("\n", "")}<' + '/script>';
  const open_one = {
    same: (name) => open("/" + name + ".html"),
    cross: (name) => open("${cross.origin}/" + name + ".html"),
    redirected: (name) => open("/to-" + name),
    noopener: (name) => open("/" + name + ".html", "_blank", "noopener"),
    written: (name) => { const w = open(""); w.document.write(made(name)); w.document.close(); return w; },
    blob: (name) => open(URL.createObjectURL(new Blob([made(name)], { type: "text/html" }))),
  };
  const begin = (name) => {
    const account = windows[name] = { opened: false, had_opener: false, order: "asked" };
    account.opened = open_one[name.split("-")[0]](name) !== null;
    account.order += " returned";
  };
  const names = ${JSON.stringify(KINDS)}.flatMap((kind) => Array.from({ length: ${ROUNDS} }, (_, i) => kind + "-" + i));
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  onload = async () => {
    for (const name of names) { begin(name); await wait(30); }
    const is_over = () => Object.values(heard).length === 4 && Object.values(heard).every(({ count }) => count === ${MESSAGES})
      && Object.values(windows).every(({ order }) => order.endsWith("told"));
    // What is lost never comes.
    for (let left = 1_200; left > 0 && !is_over(); left -= 1) await wait(50);
    await fetch("/account", { method: "POST", body: JSON.stringify({ heard, windows }) });
  };
</script>`;
