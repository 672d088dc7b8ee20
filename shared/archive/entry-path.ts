import { ArchiveError, quoteEntry } from "./archive-error.ts";

const MAX_PATH_BYTES = 1_024;
const MAX_SEGMENT_BYTES = 255;
const MAX_DEPTH = 64;

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what is refused
const CONTROL = /[\u0000-\u001f\u007f]/;

function problemOf(name: string, segments: string[]): string | null {
  if (CONTROL.test(name)) return "has control characters in its name";
  if (name.includes("\\")) return "has a backslash in its name";
  if (name.startsWith("/")) return "has an absolute name";
  if (/^[A-Za-z]:/.test(name)) return "names a drive";
  if (segments.includes("..")) return 'has ".." in its name';
  if (segments.includes(".") || segments.includes("")) return "is not a plain path";
  if (segments.length > MAX_DEPTH) return `lies deeper than ${MAX_DEPTH} directories`;
  if (Buffer.byteLength(name) > MAX_PATH_BYTES)
    return `has a name longer than ${MAX_PATH_BYTES} bytes`;
  if (segments.some((segment) => Buffer.byteLength(segment) > MAX_SEGMENT_BYTES))
    return `has a part longer than ${MAX_SEGMENT_BYTES} bytes in its name`;
  return null;
}

/**
 * The segments of an entry's name: joined to a directory they never lead out of it. A leading `./` and a trailing `/` are
 * how tar writes a directory; the directory itself has no segments.
 * @throws ArchiveError naming the entry.
 */
export function entryPath(name: string): string[] {
  const plain = name.replace(/^(\.\/)+/, "").replace(/\/$/, "");
  if (plain === "" || plain === ".") {
    if (name === "" || name === "/")
      throw new ArchiveError(`${quoteEntry(name)} is not a plain path`);
    return [];
  }
  const segments = plain.split("/");
  const problem = problemOf(plain, segments);
  if (problem !== null) throw new ArchiveError(`${quoteEntry(name)} ${problem}`);
  return segments;
}
