import { join } from "node:path";
import { type Browser, chromium, type Frame } from "playwright-core";
import { API_TOOLS, installApiTools } from "./api-tools.ts";
import { CHROMIUM_FLAGS, chromiumPath } from "./chromium.ts";

/** ReplayWeb.page, a player of web archives that others wrote, in a Chromium of its own. */
export interface ReplayPlayer {
  /** Shows one page of a WACZ; the frame in which the archived page itself runs, once it has loaded. */
  open(wacz: string, url: string): Promise<Frame>;
  close(): Promise<void>;
}

const PLAYER = join(API_TOOLS, "node_modules/replaywebpage");
const FILES = new Map([
  ["/replay/ui.js", "ui.js"],
  ["/replay/sw.js", "sw.js"],
]);
/**
 * A player on a busy machine takes half a minute for what takes seconds. One whose service worker took over between the
 * player's two questions for it shows nothing until somebody opens it again, as a person would.
 */
const OPENED_MS = 40_000;
const OPENINGS = 3;

const pageOf = (url: string) => `<!doctype html><script src="/replay/ui.js"></script>
  <replay-web-page source="/archive.wacz" url="${url}" replaybase="/replay/" embed="replayonly"
    style="display: block; height: 600px"></replay-web-page>`;

export async function startReplayPlayer(): Promise<ReplayPlayer> {
  await installApiTools();
  let archive = "";
  let shown = "";
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => {
      const { pathname } = new URL(url);
      if (pathname === "/") return html(pageOf(shown));
      if (pathname === "/archive.wacz") return new Response(Bun.file(archive));
      const file = FILES.get(pathname);
      return file === undefined
        ? new Response("not here", { status: 404 })
        : new Response(Bun.file(join(PLAYER, file)));
    },
  });
  const browser = await chromium
    .launch({ executablePath: chromiumPath(), args: [...CHROMIUM_FLAGS] })
    .catch(async (err) => {
      await server.stop(true);
      throw err;
    });
  return {
    open: async (wacz, url) => {
      archive = wacz;
      shown = url;
      return archivedFrame(browser, `http://127.0.0.1:${server.port}/`, url);
    },
    close: async () => {
      await browser.close();
      await server.stop(true);
    },
  };
}

const html = (text: string) => new Response(text, { headers: { "content-type": "text/html" } });

async function archivedFrame(browser: Browser, player: string, url: string): Promise<Frame> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const said: string[] = [];
  page.on("console", (line) => said.push(line.text()));
  // The player names the archived page in its own address: …/w/…/<time>mp_/<url>
  const isArchived = (frame: Frame) =>
    /\/w\/.+\/\d*mp_\//.test(frame.url()) && frame.url().endsWith(url);
  const found = Promise.withResolvers<Frame>();
  page.on("framenavigated", (frame) => isArchived(frame) && found.resolve(frame));
  for (let i = 0; i < OPENINGS; i += 1) {
    await page.goto(player, { timeout: OPENED_MS });
    const frame = await Promise.race([found.promise, Bun.sleep(OPENED_MS)]);
    if (frame === undefined) continue;
    await frame.waitForLoadState("load", { timeout: OPENED_MS });
    return frame;
  }
  const frames = page.frames().map((frame) => frame.url());
  throw new Error(`the player did not show ${url}, but ${[...frames, ...said].join("\n")}`);
}
