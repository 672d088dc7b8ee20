import { mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { readZip } from "#shared/archive/read-zip.ts";
import { CHROMIUM_FLAGS, chromiumPath } from "../rigs/chromium.ts";

/** The files of a trace, by name. */
export async function filesOfTrace(zip: Uint8Array): Promise<Map<string, Buffer>> {
  const dir = await mkdtemp(join(tmpdir(), "flotilla-trace-"));
  try {
    await writeFile(join(dir, "trace.zip"), zip);
    const file = await open(join(dir, "trace.zip"));
    try {
      const limits = { entries: 60_000, directory_bytes: 16 * 1024 * 1024 };
      const files = new Map<string, Buffer>();
      for (const { name, read } of await readZip(file, limits))
        files.set(name, Buffer.concat(await Array.fromAsync(read())));
      return files;
    } finally {
      await file.close();
    }
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

const VIEWER = join(import.meta.dir, "../../../node_modules/playwright-core/lib/vite/traceViewer");

/** The titles of actions that Playwright's own trace viewer shows of this trace. */
export async function shownActions(zip: Uint8Array<ArrayBuffer>): Promise<string[]> {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => {
      const { pathname } = new URL(url);
      if (pathname === "/trace.zip") return new Response(zip);
      return new Response(Bun.file(join(VIEWER, pathname.slice(1))));
    },
  });
  let browser: Browser | null = null;
  try {
    browser = await chromium.launch({ executablePath: chromiumPath(), args: [...CHROMIUM_FLAGS] });
    const page = await browser.newPage();
    const origin = `http://127.0.0.1:${server.port}`;
    await page.goto(`${origin}/index.html?trace=${encodeURIComponent(`${origin}/trace.zip`)}`);
    const actions = page.locator(".action-title-method");
    await actions.first().waitFor({ timeout: 60_000 });
    return await actions.allTextContents();
  } finally {
    await browser?.close();
    await server.stop(true);
  }
}
