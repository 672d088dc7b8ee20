import { createHash } from "node:crypto";
import type { Chunks } from "#shared/archive/streams.ts";

/** A page of an archive, as lists of its pages show it. */
export interface ArchivedPage {
  url: string;
  ts: string;
  title: string;
  text?: string;
}

/** A file of a WACZ, as its `datapackage.json` names it. */
export interface PackedFile {
  name: string;
  path: string;
  hash: string;
  bytes: number;
}

/** `chunks` as they are; tells at their end what went by. */
export async function* measured(
  path: string,
  chunks: Chunks,
  onEnd: (file: PackedFile) => void,
): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of chunks) {
    hash.update(chunk);
    bytes += chunk.length;
    yield chunk;
  }
  onEnd(fileOf(path, hash.digest("hex"), bytes));
}

export const packedText = (path: string, text: string): PackedFile =>
  fileOf(path, createHash("sha256").update(text).digest("hex"), Buffer.byteLength(text));

const fileOf = (path: string, sha256: string, bytes: number): PackedFile => ({
  name: path.slice(path.lastIndexOf("/") + 1),
  path,
  hash: `sha256:${sha256}`,
  bytes,
});

/** An index is sorted by its bytes, because replay searches it in halves. */
export const indexText = (lines: readonly string[]): string =>
  lines
    .toSorted()
    .map((line) => `${line}\n`)
    .join("");

/** `pages/pages.jsonl`. */
export function pagesText(pages: readonly ArchivedPage[], id_of: (n: number) => string): string {
  const hasText = pages.some(({ text }) => text !== undefined);
  const head = { format: "json-pages-1.0", id: "pages", title: "All Pages", hasText };
  const items = pages.map((page, n) => ({ id: id_of(n), ...page }));
  return [head, ...items].map((line) => `${JSON.stringify(line)}\n`).join("");
}

export interface PackageFacts {
  title: string;
  created: string;
  software: string;
  main: ArchivedPage | undefined;
}

/** `datapackage.json` of WACZ 1.1.1. */
export const packageText = (
  { title, created, software, main }: PackageFacts,
  resources: readonly PackedFile[],
): string =>
  JSON.stringify(
    {
      profile: "data-package",
      wacz_version: "1.1.1",
      title,
      created,
      software,
      ...(main ? { mainPageUrl: main.url, mainPageDate: main.ts } : {}),
      resources,
    },
    null,
    2,
  );
