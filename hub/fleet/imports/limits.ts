import { ArchiveError } from "#shared/archive/archive-error.ts";

/** What is taken of an archive (rules/documents#import-of-a-web-archive). All of it comes from strangers. */
export const IMPORT_LIMITS = {
  records: 200_000,
  /** As many as a capture has (rules/documents#har). */
  entries: 20_000,
  assets: 20_000,
  /** Fields of one record, and the head of one HTTP message. */
  field_bytes: 256 * 1024,
  /** All heads of HTTP messages, which are held in memory until the HAR is written. */
  heads_bytes: 64 * 1024 * 1024,
  /** A record that is read as text. */
  text_bytes: 1024 * 1024,
  url_chars: 70_000,
  pages: 1_000,
  /** `pages.jsonl` and `datapackage.json`. */
  list_bytes: 16 * 1024 * 1024,
  zip: { entries: 10_000, directory_bytes: 8 * 1024 * 1024 },
  warcs: 200,
  /** What may come out of the compressions, in lengths of the largest asset: of the file, and of bodies. */
  unpacked_factor: 2,
  redirects: 20,
} as const;

/** Counts what comes out of every compression. @throws ArchiveError when it is too much. */
export function createBudget(max_bytes: number, signal: AbortSignal): (bytes: number) => void {
  let left = max_bytes;
  return (bytes) => {
    signal.throwIfAborted();
    left -= bytes;
    if (left < 0)
      throw new ArchiveError(`the archive holds more than ${max_bytes} bytes`, { too_large: true });
  };
}
