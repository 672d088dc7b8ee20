import { expect } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { OTHER_MACHINE_FLAG } from "../servers/plain-proxy.ts";
import { lanePorts } from "../servers/ports.ts";
import { judgeAccess } from "./accessible.ts";
import { CHROMIUM_FLAGS, headlessChromiumPath } from "./chromium.ts";
import { processesOf, until } from "./fleet-process.ts";
import { PROGRAM, startProgram } from "./program.ts";

/**
 * The admin UI in a real Chromium, against dev mode with its workers: one of each for the whole process. Tests share the
 * data, so that names are their own.
 */
export interface UiRig {
  /** Of the server, without a slash at its end. */
  readonly url: string;
  readonly admin_password: string;
  /** Of the server; its plugins lie below it. */
  readonly data_dir: string;
  /** A site on loopback: `/`, `/page` with pictures, `/slow` that waits for `release`, `/form`, `/files`. */
  readonly site: string;
  release(): void;
  /** Calls the API. @throws when the answer is no success. */
  api<T = unknown>(method: string, path: string, json?: unknown): Promise<T>;
  /** Opens a page of the UI in a context of its own; `judge` it before the test ends. */
  open(path: string, options?: OpenOptions): Promise<UiPage>;
}

export interface OpenOptions {
  width?: number;
  height?: number;
  colors?: "light" | "dark";
  /** Another server than dev mode. */
  url?: string;
  /** IANA name of the time zone that the browser is in. */
  zone?: string;
  /** Pages of another number share no connections: a browser has six for a server, of which each page holds one. */
  apart?: number;
}

export interface UiPage extends AsyncDisposable {
  readonly page: Page;
  /**
   * No console error, no broken script, no request to another origin so far, and axe finds nothing serious in what is
   * shown. Console errors that match `allowed` are the test's own doing; `state` tells what is shown from the same page in
   * another one, which axe has judged before.
   */
  judge(allowed?: RegExp, state?: string): Promise<void>;
  /** Console errors, broken scripts and requests to other origins so far. */
  complaints(allowed?: RegExp): string[];
}

const FLAGS = [
  ...CHROMIUM_FLAGS,
  // No page comes back from memory, and none needs more than software to be drawn.
  ...["--disable-features=BackForwardCache", "--disable-gpu"],
  OTHER_MACHINE_FLAG,
];
/** A deploy says what it was told; of the target `waits` it ends when there is a file `deploy-ends` in the data directory, of `fails` with 3. */
const DEPLOY = JSON.stringify([
  ...["sh", "-c"],
  'echo "deploys $*"; case "$1" in waits) until [ -e deploy-ends ]; do sleep 0.1; done; echo ended;; fails) exit 3;; esac',
  "sh",
]);
/** A page may ask for the picture of a session that ends or starts, or of a worker that is slow, at that moment; no page can keep that from the console. */
const LATE_PICTURE = /status of (404|503|504) .*\/preview\.jpg$/;
/** A job that has just begun, or that is not recorded, has no recording; a page learns that by asking. */
const NOT_RECORDED = /status of 404 .*\/recording$/;
/** The live screen of a job that ended while it was being connected. */
const SCREEN_GONE =
  /404 .*\/sessions\/[^/]+\/(novnc\/|state)|Connection closed \(code: 4(404|502)|Error decoding rect/;
/** What tests listen to: the next test of the same page hears nothing of it. */
const WATCHED = ["console", "dialog", "pageerror", "request", "response", "websocket"];
/** Anything of a page that takes longer hangs. */
const PAGE_MS = 60_000;
/** Dev mode bundles the app and starts its lanes beside whatever else the machine does. */
const START_MS = 100_000;

const kept = globalThis as {
  flotillaUi?: Promise<UiRig>;
  flotillaUiContexts?: Map<string, Promise<BrowserContext>>;
  flotillaUiIdle?: Map<BrowserContext, Page[]>;
  flotillaKept?: (command: string) => boolean;
  flotillaAtEnd?: () => unknown;
};

kept.flotillaUiContexts ??= new Map();
kept.flotillaUiIdle ??= new Map();
const contexts = kept.flotillaUiContexts;
/**
 * Playwright keeps the requests of a page, about a hundred for each time the app is loaded, until that is closed. Of more than
 * 10,000 it forgets the oldest while it still tells of them: "Cannot find parent object request@… to create response@…".
 */
const MOST_USES = 20;
const uses = new WeakMap<Page, number>();
/** Pages that nobody uses: a new one costs a process and reads every script anew. */
const idle = kept.flotillaUiIdle;

/** @param screens lanes have a screen, as on a server; without one they start sooner. */
export const uiRig = ({ screens = false } = {}): Promise<UiRig> => {
  kept.flotillaUi ??= start(screens);
  return kept.flotillaUi;
};

const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mNk+M9Qz0AEYBxVSF+FABJADveWkH6oAAAAAElFTkSuQmCC",
  "base64",
);

const html = (body: string) =>
  new Response(`<!doctype html><html lang="en"><title>Test site</title><body>${body}`, {
    headers: { "content-type": "text/html; charset=utf-8" },
  });

function startSite() {
  let gate = Promise.withResolvers<void>();
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    fetch: async (request) => {
      const { pathname } = new URL(request.url);
      if (pathname === "/slow") await gate.promise;
      if (pathname.endsWith(".png"))
        return new Response(PIXEL, { headers: { "content-type": "image/png" } });
      if (pathname === "/data.json") return Response.json({ hello: "world" });
      if (pathname === "/form")
        return html(
          '<form><label>Name <input id="name"></label><button id="go" type="button">Go</button></form>',
        );
      if (pathname === "/files")
        return html(
          '<label>Letter <input id="letter" type="file"></label><p></p><label>Pictures <input id="pictures" type="file" multiple></label>',
        );
      if (pathname === "/missing") return new Response("no", { status: 404 });
      return html(
        '<h1>Hello</h1><img src="/a.png" alt=""><img src="/b.png" alt=""><script>fetch("/data.json")</script>',
      );
    },
  });
  return {
    url: server.url.origin,
    release: () => {
      gate.resolve();
      gate = Promise.withResolvers();
    },
    stop: () => {
      gate.resolve();
      return server.stop(true);
    },
  };
}

async function start(screens: boolean): Promise<UiRig> {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-ui-"));
  const site = startSite();
  const dev = startProgram(
    [
      ...PROGRAM,
      "dev",
      "--port=0",
      "--lanes=3",
      `--headless-lanes=${screens ? 0 : 1}`,
      `--data-dir=${join(dir, "data")}`,
    ],
    {
      cwd: dir,
      env: {
        FLOTILLA_TEST: dir,
        SVC_DEPLOY_ARGV: DEPLOY,
        SVC_ALLOWED_HOSTS: "hub.test",
        // What a test leaves in the queue stays there, however long the tests before its turn take.
        SVC_QUEUE_TIMEOUT_S: "3600",
        ...lanePorts(),
      },
    },
  );
  const others = kept.flotillaKept;
  kept.flotillaKept = (command) =>
    command.includes(dir) ||
    command.includes("chromium") ||
    command.includes("playwright") ||
    others?.(command) === true;
  const url = await until(
    "the banner",
    START_MS,
    () => /http:\/\/127\.0\.0\.1:\d+/.exec(dev.stdout)?.[0],
  );
  const browser = await chromium.launch({ executablePath: headlessChromiumPath(), args: FLAGS });
  const before = kept.flotillaAtEnd;
  kept.flotillaAtEnd = async () => {
    await browser.close();
    dev.kill("SIGTERM");
    await dev.exited;
    await until("the end of every process", 60_000, () =>
      processesOf(dir).every((p) => p.state === "Z"),
    );
    await site.stop();
    rmSync(dir, { recursive: true, force: true });
    await before?.();
  };
  const api = async <T>(method: string, path: string, json?: unknown): Promise<T> => {
    const response = await fetch(url + path, {
      method,
      headers: json === undefined ? {} : { "content-type": "application/json" },
      body: json === undefined ? null : JSON.stringify(json),
      signal: AbortSignal.timeout(60_000),
    });
    const text = await response.text();
    if (!response.ok)
      throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 500)}`);
    return (text === "" ? null : JSON.parse(text)) as T;
  };
  await until("warm lanes", START_MS, async () => {
    const { workers } = await api<{ workers: { lanes: { state: string }[] }[] }>("GET", "/workers");
    return workers.some(({ lanes }) => lanes.filter(({ state }) => state === "warm").length === 3);
  });
  const admin_password = /password (\S+)/.exec(dev.stdout)?.[1] ?? "";
  return {
    url,
    admin_password,
    data_dir: join(dir, "data"),
    site: site.url,
    release: site.release,
    api,
    open: (path, options) => openPage(browser, options?.url ?? url, path, options),
  };
}

/**
 * Pages of one size and colour share a context, whose cache has the app's files; what the app keeps in the browser is
 * forgotten between them.
 */
function contextFor(
  browser: Browser,
  options: Required<Omit<OpenOptions, "url">>,
): Promise<BrowserContext> {
  const { width, height, colors, zone } = options;
  const key = JSON.stringify(options);
  const there = contexts.get(key);
  if (there !== undefined) return there;
  const made = browser.newContext({
    viewport: { width, height },
    colorScheme: colors,
    timezoneId: zone,
    reducedMotion: "reduce",
  });
  contexts.set(key, made);
  return made;
}

async function openPage(
  browser: Browser,
  url: string,
  path: string,
  { width = 1440, height = 900, colors = "light", zone = "UTC", apart = 0 }: OpenOptions = {},
): Promise<UiPage> {
  const context = await contextFor(browser, { width, height, colors, zone, apart });
  const page = idle.get(context)?.pop() ?? (await context.newPage());
  page.setDefaultTimeout(PAGE_MS);
  // Its last test may have made it smaller.
  await page.setViewportSize({ width, height });
  const errors: string[] = [];
  const foreign: string[] = [];
  const look = (at: string) => {
    if (/^(https?|wss?):/.test(at) && new URL(at).host !== new URL(url).host) foreign.push(at);
  };
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(`${message.text()} ${message.location().url}`);
  });
  page.on("pageerror", (err) => errors.push(err.stack ?? err.message));
  page.on("request", (request) => look(request.url()));
  page.on("websocket", (socket) => look(socket.url()));
  await page.goto(url + path);
  // Keys pressed before the app has begun are nobody's.
  await page.locator("main :is(h1, h2, [role=alert])").first().waitFor();
  const complaints = (allowed?: RegExp) => [
    ...errors.filter(
      (text) =>
        !LATE_PICTURE.test(text) &&
        !NOT_RECORDED.test(text) &&
        !SCREEN_GONE.test(text) &&
        !allowed?.test(text),
    ),
    ...foreign.map((at) => `asked of another origin: ${at}`),
  ];
  return {
    page,
    complaints,
    judge: async (allowed, state = "") => {
      await judgeAccess(page, `${width} ${colors} ${state}`);
      expect(complaints(allowed)).toEqual([]);
    },
    [Symbol.asyncDispose]: async () => {
      for (const event of WATCHED) page.removeAllListeners(event);
      await page.unrouteAll();
      await page.evaluate("localStorage.clear()").catch(() => {});
      await context.clearCookies();
      // Nothing of it goes on: a page that asks the server before it is left would be asked for.
      await page.goto("about:blank").catch(() => {});
      const used = (uses.get(page) ?? 0) + 1;
      uses.set(page, used);
      if (page.url() !== "about:blank" || used >= MOST_USES) await page.close();
      else idle.set(context, [...(idle.get(context) ?? []), page]);
    },
  };
}

/** Some pages ask for the administrator before they show anything. */
export async function logIn(page: Page, url: string, password: string): Promise<void> {
  const answer = await page.request.post(`${url}/ui/login`, { data: { password } });
  expect(answer.status()).toBe(204);
}

/** The page has its heading, and nothing on it is being loaded. */
export async function settled(page: Page): Promise<void> {
  await page.locator("main h1").first().waitFor();
  await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
}
