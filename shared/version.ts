import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Replaced by `scripts/build.ts` in the compiled binary; absent when run from source. */
declare const FLOTILLA_VERSION: string | undefined;

const SOURCE_DIRS = ["drizzle", "hub", "shared", "worker"];
const SOURCE_FILE = /\.(ts|tsx|sql)$/;

function* sourceFiles(root: string, dir: string): Generator<string> {
  for (const entry of readdirSync(join(root, dir), { withFileTypes: true })) {
    const path = `${dir}/${entry.name}`;
    if (entry.name.startsWith(".")) continue;
    if (entry.isDirectory()) yield* sourceFiles(root, path);
    else if (SOURCE_FILE.test(entry.name)) yield path;
  }
}

/**
 * First 12 hex digits of SHA-256 over every source file in sorted order, each as path, zero byte,
 * content (fleet spec §9.1). Paths are relative to `root` with forward slashes.
 */
export function hashSources(root: string): string {
  const paths = SOURCE_DIRS.flatMap((dir) => [...sourceFiles(root, dir)]).sort();
  const hash = createHash("sha256");
  for (const path of paths)
    hash
      .update(path)
      .update("\0")
      .update(readFileSync(join(root, path)));
  return hash.digest("hex").slice(0, 12);
}

/** The node's version: baked in, else hashed from the sources beside this file, else `fallback`, else `dev` (§9.2). */
export function nodeVersion(fallback: string | undefined): string {
  if (typeof FLOTILLA_VERSION === "string" && FLOTILLA_VERSION !== "") return FLOTILLA_VERSION;
  try {
    return hashSources(join(import.meta.dir, ".."));
  } catch {
    return fallback ?? "dev";
  }
}
