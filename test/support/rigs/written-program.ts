import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CHROMIUM_FLAGS, chromiumPath } from "./chromium.ts";

/** Longer than any wait of the program for what does not come. */
const RUN_MS = 120_000;

/** The package that programs import, with the browser that this machine has. */
const playwright =
  () => `import { chromium as real } from ${JSON.stringify(import.meta.resolve("playwright-core"))};
export const chromium = {
  launch: () => real.launch({ executablePath: ${JSON.stringify(chromiumPath())}, args: ${JSON.stringify(CHROMIUM_FLAGS)} }),
};`;

/** Runs a program that was written for Playwright as it stands. @returns what it said when it failed, "" when it did not. */
export async function runPlaywright(program: string): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "flotilla-written-"));
  try {
    await Bun.write(join(dir, "node_modules/playwright/index.js"), playwright());
    await Bun.write(
      join(dir, "node_modules/playwright/package.json"),
      JSON.stringify({ name: "playwright", type: "module", main: "index.js" }),
    );
    await writeFile(join(dir, "program.ts"), program);
    const run = Bun.spawn([process.execPath, "program.ts"], {
      cwd: dir,
      stdout: "ignore",
      stderr: "pipe",
      signal: AbortSignal.timeout(RUN_MS),
    });
    const [said, code] = await Promise.all([new Response(run.stderr).text(), run.exited]);
    return code === 0 ? "" : `ended with ${code}: ${said}`;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
