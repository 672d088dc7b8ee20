import { expect } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AxeBuilder } from "@axe-core/playwright";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { processesOf, until } from "./fleet-process.ts";
import { laneEnv, startProgram } from "./program.ts";

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
  /** A site on loopback: `/`, `/page` with pictures, `/slow` that waits for `release`, `/form`. */
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
}

export interface UiPage extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  /**
   * No console error, no broken script, no request to another origin so far, and axe finds nothing serious in what is
   * shown. Console errors that match `allowed` are the test's own doing.
   */
  judge(allowed?: RegExp): Promise<void>;
}

const ROOT = join(import.meta.dir, "../..");
/** As the machine's Debian has it. */
const CHROMIUM = Bun.which("chromium") ?? Bun.which("chromium-browser") ?? "chromium";
const FLAGS = [
  ...["--no-sandbox", "--disable-background-networking", "--disable-component-update"],
  ...["--disable-quic", "--no-first-run", "--disable-sync"],
];
/** A deploy says what it was told; of the target `waits` it ends when there is a file `deploy-ends` in the data directory, of `fails` with 3. */
const DEPLOY = JSON.stringify([
  ...["sh", "-c"],
  'echo "deploys $*"; case "$1" in waits) until [ -e deploy-ends ]; do sleep 0.1; done; echo ended;; fails) exit 3;; esac',
  "sh",
]);
/** Anything of a page that takes longer is late. */
const PAGE_MS = 15_000;

const kept = globalThis as {
  flotillaUi?: Promise<UiRig>;
  flotillaKept?: (command: string) => boolean;
  flotillaAtEnd?: () => unknown;
};

export const uiRig = (): Promise<UiRig> => {
  kept.flotillaUi ??= start();
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

async function start(): Promise<UiRig> {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-ui-"));
  const site = startSite();
  const dev = startProgram(
    [
      process.execPath,
      join(ROOT, "hub/main.ts"),
      "dev",
      "--port=0",
      "--lanes=3",
      "--headless-lanes=1",
      `--data-dir=${join(dir, "data")}`,
    ],
    { cwd: dir, env: { FLOTILLA_TEST: dir, SVC_DEPLOY_ARGV: DEPLOY, ...laneEnv() } },
  );
  const others = kept.flotillaKept;
  kept.flotillaKept = (command) =>
    command.includes(dir) ||
    command.includes("chromium") ||
    command.includes("playwright") ||
    others?.(command) === true;
  const url = await until(
    "the banner",
    20_000,
    () => /http:\/\/127\.0\.0\.1:\d+/.exec(dev.stdout)?.[0],
  );
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
  const before = kept.flotillaAtEnd;
  kept.flotillaAtEnd = async () => {
    await browser.close();
    dev.kill("SIGTERM");
    await dev.exited;
    await until("the end of every process", 20_000, () =>
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
      signal: AbortSignal.timeout(20_000),
    });
    const text = await response.text();
    if (!response.ok)
      throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 500)}`);
    return (text === "" ? null : JSON.parse(text)) as T;
  };
  await until("warm lanes", 30_000, async () => {
    const { workers } = await api<{ workers: { lanes: { state: string }[] }[] }>("GET", "/workers");
    return workers.some(({ lanes }) => lanes.filter(({ state }) => state === "warm").length === 3);
  });
  const admin_password = /password (\S+)/.exec(dev.stdout)?.[1] ?? "";
  return {
    ...{
      url,
      admin_password,
      data_dir: join(dir, "data"),
      site: site.url,
      release: site.release,
      api,
    },
    open: (path, options) => openPage(browser, options?.url ?? url, path, options),
  };
}

async function openPage(
  browser: Browser,
  url: string,
  path: string,
  { width = 1440, height = 900, colors = "light" }: OpenOptions = {},
): Promise<UiPage> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: colors,
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PAGE_MS);
  const errors: string[] = [];
  const foreign: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(`${message.text()} ${message.location().url}`);
  });
  page.on("pageerror", (err) => errors.push(err.stack ?? err.message));
  context.on("request", (request) => {
    const at = request.url();
    if (/^(https?|wss?):/.test(at) && new URL(at).host !== new URL(url).host) foreign.push(at);
  });
  await page.goto(url + path);
  // Keys pressed before the app has begun are nobody's.
  await page.locator("main :is(h1, h2, [role=alert])").first().waitFor();
  return {
    page,
    context,
    judge: async (allowed) => {
      const { violations } = await new AxeBuilder({ page }).exclude("iframe").analyze();
      const serious = violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(({ id, help, nodes }) => ({
          id,
          help,
          nodes: nodes.map((node) => node.html).slice(0, 5),
        }));
      expect({ at: page.url(), serious }).toEqual({ at: page.url(), serious: [] });
      expect(errors.filter((text) => !allowed?.test(text))).toEqual([]);
      expect(foreign).toEqual([]);
    },
    [Symbol.asyncDispose]: () => context.close(),
  };
}
