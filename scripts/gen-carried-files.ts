import { createHash } from "node:crypto";
import { join } from "node:path";
import { Glob } from "bun";
import { isSource } from "#shared/protocol/version.ts";

/** Writes shared/carried-files.ts; `--check` only compares. */

const ROOT = join(import.meta.dir, "..");
export const CARRIED = join(ROOT, "shared/carried-files.ts");

const LINE_WIDTH = 100;

/** What hub and worker read beside their sources, and an update therefore carries. */
const isCarried = (path: string) => !isSource(path) && !path.endsWith(".md");

export async function carriedFilesText(): Promise<string> {
  const paths = await Array.fromAsync(new Glob("{shared,worker}/**/*").scan(ROOT));
  const lines: string[] = [];
  for (const path of paths.filter(isCarried).sort()) {
    const hash = createHash("sha256").update(await Bun.file(join(ROOT, path)).bytes());
    const line = `  "${path}": "${hash.digest("hex")}",\n`;
    // As the formatter breaks it.
    lines.push(line.length - 1 <= LINE_WIDTH ? line : line.replace(": ", ":\n    "));
  }
  return `/**
 * Files that a worker reads in addition to its sources, with their SHA-256; written by \`bun run gen\`. The version of a node is
 * the hash of its sources (rules/updates#versions): named here, these files count for it too, and an update can be checked whole.
 */
export const CARRIED_FILES: Readonly<Record<string, string>> = {
${lines.join("")}};
`;
}

if (import.meta.main) {
  const text = await carriedFilesText();
  const same = (await Bun.file(CARRIED).exists()) && (await Bun.file(CARRIED).text()) === text;
  if (!process.argv.includes("--check")) await Bun.write(CARRIED, text);
  else if (!same) {
    console.error("shared/carried-files.ts is out of date: bun run gen");
    process.exit(1);
  }
}
