import { mkdtempSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { CHROMIUM_FLAGS, chromiumPath } from "#test/support/rigs/chromium.ts";
import { until } from "#test/support/rigs/fleet-process.ts";

/** The reference of `fetch-job`: what somebody writes with playwright-core in ten minutes, on a warm browser. */

export interface BareBrowser {
  browser: Browser;
  close(): Promise<void>;
}

export async function startBareBrowser(display: number): Promise<BareBrowser> {
  const xvnc = Bun.spawn(
    [
      "Xvnc",
      `:${display}`,
      "-SecurityTypes",
      "None",
      "-localhost",
      "-rfbport",
      String(38_000 + display),
      "-geometry",
      "1920x1080",
      "-depth",
      "24",
    ],
    { stdout: "ignore", stderr: "ignore" },
  );
  const socket = `/tmp/.X11-unix/X${display}`;
  await until("the display", 5_000, () =>
    Bun.file(socket)
      .stat()
      .then(
        () => true,
        () => false,
      ),
  );
  const browser = await chromium.launch({
    executablePath: chromiumPath(),
    headless: false,
    env: { ...process.env, DISPLAY: `:${display}` } as Record<string, string>,
    args: [...CHROMIUM_FLAGS, "--window-size=1920,1080"],
  });
  return {
    browser,
    close: async () => {
      await browser.close();
      xvnc.kill();
      await xvnc.exited;
    },
  };
}

/** Opens `url`, waits for load and `idle_ms` without a request in flight, saves every body; how many it saved. */
export async function bareFetch(browser: Browser, url: string, idle_ms: number): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-bare-"));
  const context = await browser.newContext({ viewport: null });
  const page = await context.newPage();
  const saves: Promise<boolean>[] = [];
  let inFlight = 0;
  const idle = Promise.withResolvers<void>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const settle = () => {
    clearTimeout(timer);
    if (inFlight === 0) timer = setTimeout(idle.resolve, idle_ms);
  };
  page.on("request", () => {
    inFlight += 1;
    clearTimeout(timer);
  });
  const over = () => {
    inFlight -= 1;
    settle();
  };
  page.on("requestfinished", over);
  page.on("requestfailed", over);
  page.on("response", (response) => {
    const name = String(saves.length);
    saves.push(
      response.body().then(
        (body) => writeFile(join(dir, name), body).then(() => true),
        () => false,
      ),
    );
  });
  await page.goto(url, { waitUntil: "load" });
  settle();
  await idle.promise;
  const saved = (await Promise.all(saves)).filter(Boolean).length;
  await writeFile(join(dir, "page.html"), await page.content());
  await context.close();
  rmSync(dir, { recursive: true });
  return saved;
}
