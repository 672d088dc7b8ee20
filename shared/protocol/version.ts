import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Replaced by `scripts/build.ts` in the compiled binary; absent when run from source. */
declare const FLOTILLA_VERSION: string | undefined;

/** The node's source and core directories: the whole program, so that the version distinguishes any two programs. */
const SOURCE_DIRS = ["drizzle", "hub", "shared", "worker"];
const SOURCE_FILE = /\.(ts|tsx|sql)$/;

/** Holds a node's version next to its sources (rules/updates#worker-source, rules/updates#version-fallbacks). */
export const VERSION_FILE = "VERSION";

/** A file of the program; `path` from its root, with forward slashes. */
export interface SourceFile {
  path: string;
  body: Uint8Array;
}

/** Whether a file counts for the version: no hidden ones, nor such below a hidden directory. */
export const isSource = (path: string): boolean =>
  SOURCE_FILE.test(path) && path.includes("/") && !path.split("/").some((s) => s.startsWith("."));

function* sourcePaths(root: string, dir: string): Generator<string> {
  for (const entry of readdirSync(join(root, dir), { withFileTypes: true })) {
    const path = `${dir}/${entry.name}`;
    if (entry.name.startsWith(".")) continue;
    if (entry.isDirectory()) yield* sourcePaths(root, path);
    else if (isSource(path)) yield path;
  }
}

/** The sources below `root`, sorted by path. */
export function readSources(root: string, dirs: readonly string[] = SOURCE_DIRS): SourceFile[] {
  const paths = dirs.flatMap((dir) => [...sourcePaths(root, dir)]).sort();
  return paths.map((path) => ({ path, body: readFileSync(join(root, path)) }));
}

/**
 * First 12 hex digits of SHA-256 over source files in sorted order, each as path, zero byte, content (rules/updates#versions).
 */
export function hashFiles(files: readonly SourceFile[]): string {
  const hash = createHash("sha256");
  const sorted = [...files].sort((a, b) => (a.path < b.path ? -1 : 1));
  for (const { path, body } of sorted) hash.update(path).update("\0").update(body);
  return hash.digest("hex").slice(0, 12);
}

export const hashSources = (root: string): string => hashFiles(readSources(root));

/** Where the program's sources are when it runs from them. */
export const SOURCE_ROOT = join(import.meta.dir, "../..");

/** Whether this is the compiled binary's own code. */
export const isCompiled = (): boolean =>
  typeof FLOTILLA_VERSION === "string" && FLOTILLA_VERSION !== "";

const firstThat = (...ways: (() => string | undefined)[]): string | undefined => {
  for (const way of ways)
    try {
      const value = way()?.trim();
      if (value) return value;
    } catch {
      // Try the next source.
    }
  return undefined;
};

/**
 * The node's version (rules/updates#version-fallbacks): baked in, or hashed from the sources next to this file; else
 * from the VERSION file, `fallback` (SVC_VERSION, WORKER_VERSION), or `dev`.
 */
export const nodeVersion = (fallback: string | undefined): string =>
  (isCompiled() ? FLOTILLA_VERSION : undefined) ??
  firstThat(
    () => hashSources(SOURCE_ROOT),
    () => readFileSync(join(SOURCE_ROOT, VERSION_FILE), "utf8"),
    () => fallback,
  ) ??
  "dev";
