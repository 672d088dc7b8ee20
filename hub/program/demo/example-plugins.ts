import { mkdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import csvManifest from "./plugins/csv-profile/plugin.json" with { type: "text" };
import csvModule from "./plugins/csv-profile/profile.ts" with { type: "text" };
import csvPage from "./plugins/csv-profile/web/index.html" with { type: "text" };
import diskScript from "./plugins/disk-usage/disk-usage.sh" with { type: "text" };
import diskManifest from "./plugins/disk-usage/plugin.json" with { type: "text" };
import diskPage from "./plugins/disk-usage/web/index.html" with { type: "text" };
import pageManifest from "./plugins/page-fetch/plugin.json" with { type: "text" };
import pagePage from "./plugins/page-fetch/web/index.html" with { type: "text" };
import wordManifest from "./plugins/word-count/plugin.json" with { type: "text" };
import wordPage from "./plugins/word-count/web/index.html" with { type: "text" };
import wordModule from "./plugins/word-count/word_count.py" with { type: "text" };

/**
 * One plugin of each executor type. JSON, pages and modules are typed by their content although they are text, hence
 * String.
 */
const FILES: Record<string, unknown> = {
  "word-count/plugin.json": wordManifest,
  "word-count/word_count.py": wordModule,
  "word-count/web/index.html": wordPage,
  "csv-profile/plugin.json": csvManifest,
  "csv-profile/profile.ts": csvModule,
  "csv-profile/web/index.html": csvPage,
  "disk-usage/plugin.json": diskManifest,
  "disk-usage/disk-usage.sh": diskScript,
  "disk-usage/web/index.html": diskPage,
  "page-fetch/plugin.json": pageManifest,
  "page-fetch/web/index.html": pagePage,
};

/** Creates the folder `dir` with the example plugins, completely or not at all. An existing folder is left alone. */
export async function installExamplePlugins(dir: string): Promise<void> {
  if (await stat(dir).catch(() => null)) return;
  const temp = `${dir}.${process.pid}.part`;
  await rm(temp, { recursive: true, force: true });
  for (const [path, text] of Object.entries(FILES)) {
    const file = join(temp, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, String(text));
  }
  await rename(temp, dir);
}
