import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { newToken } from "#shared/protocol/ids.ts";
import crawlManifest from "./crawl/plugin.json" with { type: "text" };

/** Replaced by `scripts/build.ts` in the compiled binary; absent when run from source. */
declare const FLOTILLA_CRAWL_MODULE: string | undefined;

/** The plugin `crawl` as one file: its workers have neither our sources nor its libraries. Needs the sources. */
export async function bundleCrawl(): Promise<string> {
  const built = await Bun.build({
    entrypoints: [join(import.meta.dir, "crawl/crawl.ts")],
    target: "bun",
    format: "esm",
  });
  const [file] = built.outputs;
  if (!built.success || !file) throw new AggregateError(built.logs, "plugin crawl not built");
  return file.text();
}

let made: Promise<string> | undefined;
const crawlModule = (): Promise<string> => {
  made ??=
    typeof FLOTILLA_CRAWL_MODULE === "string"
      ? Promise.resolve(FLOTILLA_CRAWL_MODULE)
      : bundleCrawl();
  return made;
};

/** Writes the plugins that this program brings along (rules/pipeline-plugins#bundled-plugins) below `dir`. */
export async function writeBundledPlugins(dir: string): Promise<void> {
  // JSON that is imported as text is typed by its content, hence String.
  await putFile(join(dir, "crawl/plugin.json"), String(crawlManifest));
  await putFile(join(dir, "crawl/crawl.js"), await crawlModule());
}

/** Atomic, because the folder is scanned meanwhile. A file that is as it should be is left alone. */
async function putFile(path: string, text: string): Promise<void> {
  const file = Bun.file(path);
  if ((await file.exists()) && (await file.text()) === text) return;
  await mkdir(dirname(path), { recursive: true });
  const temp = join(dirname(path), `.${newToken()}`);
  await writeFile(temp, text);
  await rename(temp, path);
}
