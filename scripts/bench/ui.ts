import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { humanSize } from "#shared/kit/words.ts";
import { CHROMIUM_FLAGS, chromiumPath } from "#test/support/rigs/chromium.ts";
import { freePort } from "#test/support/servers/ports.ts";
import { type Bench, type Figure, showMs, statsOf } from "./harness.ts";
import { fillDatabase } from "./ui-data.ts";

/** The admin UI in Chromium, on a hub with 10,000 jobs and 1,000,000 runs. */

const MAIN = join(import.meta.dir, "../../hub/main.ts");
const READY_MS = 20_000;

/** A page, and the element with the text that it is of use with. */
const PAGES = [
  { path: "/ui/captures", useful: "[role=row].body", text: "" },
  { path: "/ui/captures/bench000000020", useful: "h1", text: "Article 20" },
  { path: "/ui/home", useful: ".home-card", text: "Captures per" },
  { path: "/ui/pipelines/bench-0", useful: "[role=row].body", text: "" },
  { path: "/ui/pipelines/runs", useful: "[role=row].body", text: "" },
] as const;

async function startHub(dir: string) {
  const port = freePort();
  const child = Bun.spawn(
    [process.execPath, MAIN, "hub", "--host=127.0.0.1", `--port=${port}`, `--data-dir=${dir}`],
    {
      stdout: "ignore",
      stderr: "ignore",
    },
  );
  const url = `http://127.0.0.1:${port}`;
  const start = performance.now();
  while (!(await fetch(`${url}/health`).catch(() => null))?.ok) {
    if (performance.now() - start > READY_MS) throw new Error("the hub did not start");
    await Bun.sleep(20);
  }
  return {
    url,
    stop: async () => {
      child.kill("SIGTERM");
      await child.exited;
    },
  };
}

async function makeHub(dir: string, tiny: boolean) {
  const first = await startHub(dir);
  for (let i = 0; i < 5; i += 1) {
    const body = {
      slug: `bench-${i}`,
      name: `Bench ${i}`,
      executor_type: "command",
      executor_config: { argv: ["true"] },
    };
    const answer = await fetch(`${first.url}/api/v1/workloads`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(await answer.text());
  }
  await fetch(`${first.url}/jobs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ url: "https://queued.example/" }),
  });
  await first.stop();
  fillDatabase(
    join(dir, "flotilla.db"),
    tiny ? { jobs: 200, runs: 2_000 } : { jobs: 10_000, runs: 1_000_000 },
  );
  const hub = await startHub(dir);
  // From source the app is bundled at the first request.
  await fetch(`${hub.url}/ui/captures`);
  return hub;
}

const SAID = "useful after ";

/** Says the milliseconds since the navigation began once the frame with the element was made: nothing is asked of the page meanwhile. */
const watchFor = (useful: string, text: string) => `{
  const watch = new MutationObserver(() => {
    for (const element of document.querySelectorAll(${JSON.stringify(useful)})) {
      if (!element.textContent.includes(${JSON.stringify(text)})) continue;
      watch.disconnect();
      requestAnimationFrame(() => setTimeout(() => console.log(${JSON.stringify(SAID)} + performance.now())));
      return;
    }
  });
  watch.observe(document, { subtree: true, childList: true, characterData: true });
}`;

/** From the start of the navigation to what is of use, painted, with nothing in the cache. */
async function paint(browser: Browser, url: string, useful: string, text: string): Promise<number> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  await page.addInitScript(watchFor(useful, text));
  const said = page.waitForEvent("console", {
    predicate: (message) => message.text().startsWith(SAID),
    timeout: READY_MS,
  });
  await page.goto(url, { waitUntil: "commit" });
  const ms = Number((await said).text().slice(SAID.length));
  await context.close();
  return ms;
}

/** The longest pause between two frames while the table is scrolled through. */
async function scrollPause(browser: Browser, url: string): Promise<number> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  await page.goto(url);
  await page.locator("[role=row].body").first().waitFor();
  const pause = await page.evaluate<number>(`new Promise((resolve) => {
    const box = document.querySelector("[data-virtual]") ?? document.scrollingElement;
    let longest = 0, last = performance.now(), frames = 0;
    requestAnimationFrame(function step(at) {
      longest = Math.max(longest, at - last);
      last = at;
      box.scrollTop += 120;
      frames += 1;
      if (frames < 120) requestAnimationFrame(step); else resolve(longest);
    });
  })`);
  await context.close();
  return pause;
}

/** What the stream of changes would bring in an hour, one message a second, as fast as the page takes it. */
const STREAM = `
  window.EventSource = class extends EventTarget {
    constructor() {
      super();
      window.tellChanged = (topics) =>
        this.dispatchEvent(new MessageEvent("changed", { data: JSON.stringify({ topics }) }));
      setTimeout(() => this.dispatchEvent(new Event("open")), 0);
    }
    readyState = 1;
    close() {}
  };`;

async function heapOf(page: Page): Promise<number> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("HeapProfiler.collectGarbage");
  const { metrics } = await cdp
    .send("Performance.enable")
    .then(() => cdp.send("Performance.getMetrics"));
  await cdp.detach();
  return metrics.find(({ name }) => name === "JSHeapUsedSize")?.value ?? NaN;
}

async function hourOfChanges(browser: Browser, url: string, updates: number) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  await context.addInitScript(STREAM);
  const page = await context.newPage();
  await page.goto(url);
  await page.locator("main h1").waitFor();
  const update = async (n: number) => {
    for (let i = 0; i < n; i += 1) {
      const answered = page.waitForResponse((response) => /\/(jobs|api)\b/.test(response.url()));
      await page.evaluate('tellChanged(["jobs", "v1/tasks"])');
      await answered;
    }
  };
  // Code is compiled and caches are filled by then.
  await update(Math.ceil(updates / 10));
  const before = await heapOf(page);
  await update(updates);
  const after = await heapOf(page);
  await context.close();
  return { before, after };
}

export const ui: Bench = async ({ runs, tiny }) => {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-bench-ui-"));
  const hub = await makeHub(dir, tiny);
  const browser = await chromium.launch({
    executablePath: chromiumPath(),
    args: [...CHROMIUM_FLAGS, "--enable-precise-memory-info"],
  });
  const figure = (metric: string, value: string, target: string): Figure => ({
    bench: "ui",
    metric,
    value,
    target,
  });
  try {
    const figures: Figure[] = [];
    // The browser and the hub have started once every page was opened. Then in rounds: a slow minute of the machine is all pages'.
    const rounds: number[][] = [];
    for (let i = 0; i <= runs; i += 1) {
      const times: number[] = [];
      for (const { path, useful, text } of PAGES)
        times.push(await paint(browser, hub.url + path, useful, text));
      if (i > 0) rounds.push(times);
    }
    for (const [n, { path }] of PAGES.entries()) {
      const times = rounds.map((round) => round[n] ?? Number.NaN);
      figures.push(figure(`first useful paint of ${path}`, showMs(statsOf(times)), "≤ 1 s"));
    }
    const pauses: number[] = [];
    for (let i = 0; i < runs; i += 1)
      pauses.push(await scrollPause(browser, `${hub.url}/ui/captures?limit=200`));
    figures.push(
      figure("longest frame while the jobs table is scrolled", showMs(statsOf(pauses)), "–"),
    );
    // An hour takes nine minutes; UI_UPDATES=300 is five minutes' worth.
    const updates = tiny ? 20 : Number(Bun.env.UI_UPDATES ?? 3_600);
    const hours = await Promise.all(
      ["/ui/captures", "/ui/home"].map(async (path) => {
        const { before, after } = await hourOfChanges(browser, hub.url + path, updates);
        const grown = `${humanSize(before)} → ${humanSize(after)}`;
        return figure(`heap of ${path} over ${updates} live updates`, grown, "flat");
      }),
    );
    figures.push(...hours);
    return figures;
  } finally {
    await browser.close();
    await hub.stop();
    rmSync(dir, { recursive: true, force: true });
  }
};
