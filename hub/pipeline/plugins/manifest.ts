import { errorMessage } from "#shared/kit/errors.ts";
import { EXECUTORS } from "#shared/protocol/executors.ts";
import { PluginManifest } from "#shared/protocol/schema/plugin.ts";
import { schemaProblem } from "./init-kwargs.ts";
import type { PluginFile } from "./plugin-folder.ts";

const MAX_MANIFEST_BYTES = 256 * 1024;

type ManifestExecutor = NonNullable<PluginManifest["executor"]>;
/** The compiler refuses a key that a manifest lacks. */
const MANIFEST_NEEDS: Record<
  ManifestExecutor["type"],
  { manifest_needs: readonly (keyof ManifestExecutor)[] }
> = EXECUTORS;

/** Reads `plugin.json`. Null, with the reasons added to `errors`, when it cannot be used. */
export async function readManifest(
  path: string,
  slug: string,
  files: ReadonlyMap<string, PluginFile>,
  errors: string[],
): Promise<PluginManifest | null> {
  const say = (text: string) => errors.push(`plugin.json: ${text}`);
  const parsed = PluginManifest.safeParse(await readJson(path, files.get("plugin.json")));
  if (!parsed.success) {
    for (const { path: at, message } of parsed.error.issues)
      say(`${at.map(String).join(".") || "it"}: ${message}`);
    return null;
  }
  const { slug: named, executor, web } = parsed.data;
  if (named !== slug) say(`slug: is ${named}, but the folder is ${slug}`);
  if (executor)
    for (const key of MANIFEST_NEEDS[executor.type].manifest_needs)
      if (executor[key] === undefined) say(`executor.${key}: is required for a ${executor.type}`);
  const problem = executor?.init_schema && schemaProblem(executor.init_schema);
  if (problem) say(`executor.init_schema: ${problem}`);
  if (web !== undefined && ![...files.keys()].some((name) => name.startsWith(`${web}/`)))
    say(`web: there is no folder ${web} with files in it`);
  return parsed.data;
}

/** @throws Error in words for the list of plugins. */
async function readJson(path: string, file: PluginFile | undefined): Promise<unknown> {
  if (!file) throw new Error("plugin.json is missing");
  if (file.size > MAX_MANIFEST_BYTES)
    throw new Error(`plugin.json is larger than ${MAX_MANIFEST_BYTES} bytes`);
  const text = await Bun.file(path).text();
  try {
    return JSON.parse(text);
  } catch (err) {
    throw new Error(`plugin.json is not valid JSON: ${errorMessage(err)}`);
  }
}
