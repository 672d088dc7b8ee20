import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { embeddedFile } from "#hub/platform/http/embedded-file.ts";
import { isCompiled } from "#shared/protocol/version.ts";

/** Name under which `scripts/build.ts` embeds the guide. */
export const GUIDE_NAME = "guide.gz";

/** Markdown by its path below this directory, with forward slashes: `start/install.md`. */
export type GuideFiles = ReadonlyMap<string, string>;

/** The guide's files below `dir`, sorted by path. */
export function readGuide(dir: string = import.meta.dir): GuideFiles {
  const names = readdirSync(dir, { recursive: true, encoding: "utf8" });
  const paths = names.filter((path) => path.endsWith(".md")).sort();
  return new Map(paths.map((path) => [path, readFileSync(join(dir, path), "utf8")]));
}

/** One file for the binary. */
export const packGuide = (files: GuideFiles): Uint8Array<ArrayBuffer> =>
  Bun.gzipSync(JSON.stringify([...files]), { level: 9 });

const unpackGuide = (packed: Uint8Array<ArrayBuffer>): GuideFiles =>
  new Map(JSON.parse(new TextDecoder().decode(Bun.gunzipSync(packed))));

/** The guide's files: out of the binary, or from beside this file when the program runs from source. */
export async function guideFiles(): Promise<GuideFiles> {
  if (!isCompiled()) return readGuide();
  const file = embeddedFile(GUIDE_NAME);
  if (file === undefined) throw new Error("the guide is not part of this binary");
  return unpackGuide(new Uint8Array(await file.arrayBuffer()));
}
