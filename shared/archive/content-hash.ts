import { createHash } from "node:crypto";

/** A file of a folder; `path` relative to it with forward slashes, as `entryPath` takes it. */
export interface HashedFile {
  path: string;
  size: number;
  sha256: string;
}

/**
 * Identifies a folder's content, however it was packed and whenever it was written: SHA-256 over a line `sha256 size
 * path` of each file, sorted by path. Sender and receiver of an archive compute it separately.
 */
export function contentHash(files: Iterable<HashedFile>): string {
  const lines = [...files].map(({ path, size, sha256 }) => [path, `${sha256} ${size} ${path}\n`]);
  const hash = createHash("sha256");
  for (const [, line = ""] of lines.sort(([a = ""], [b = ""]) => (a < b ? -1 : 1)))
    hash.update(line);
  return hash.digest("hex");
}
