import { mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { readZip } from "#shared/archive/read-zip.ts";
import { CHROMIUM_FLAGS, chromiumPath } from "../rigs/chromium.ts";
import { startProgram } from "../rigs/program.ts";

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

/** The package `playwright` has its commands from here. The one beside it is older than what made the trace; no reader's is. */
const PLAYWRIGHT = join(import.meta.dir, "../../../node_modules/playwright-core/cli.js");

/** A directory with the trace, and a desktop on which nothing opens. */
async function traceToShow(zip: Uint8Array): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "flotilla-viewer-"));
  await writeFile(join(dir, "trace.zip"), zip);
  await writeFile(join(dir, "xdg-open"), "#!/bin/sh\n", { mode: 0o755 });
  return dir;
}

/** The titles of actions that Playwright's own viewer shows of the trace in `trace.zip`, when a reader starts it by `command`. */
export async function shownActions(zip: Uint8Array, command: string): Promise<string[]> {
  const dir = await traceToShow(zip);
  const here = command.trim().replace("npx playwright ", `"${process.execPath}" "${PLAYWRIGHT}" `);
  const viewer = startProgram(["sh", "-c", `exec ${here}`], {
    cwd: dir,
    env: { HOME: dir, PATH: `${dir}:${process.env.PATH}` },
  });
  let browser: Browser | null = null;
  try {
    await viewer.says("Listening on http:", 60_000);
    const [, address = ""] = /Listening on (\S+)/.exec(viewer.stdout) ?? [];
    browser = await chromium.launch({ executablePath: chromiumPath(), args: [...CHROMIUM_FLAGS] });
    const page = await browser.newPage();
    await page.goto(address);
    const actions = page.locator(".action-title-method");
    await actions.first().waitFor({ timeout: 60_000 });
    return await actions.allTextContents();
  } finally {
    await browser?.close();
    viewer.kill("SIGTERM");
    await viewer.exited;
    await rm(dir, { recursive: true, force: true });
  }
}
