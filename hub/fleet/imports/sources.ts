import type { FileHandle } from "node:fs/promises";
import { z } from "zod";
import { ArchiveError } from "#shared/archive/archive-error.ts";
import { readZip, type ZipFile } from "#shared/archive/read-zip.ts";
import type { Chunks } from "#shared/archive/streams.ts";
import { parseJson } from "#shared/kit/json.ts";
import { collectUpTo } from "../archive/byte-reader.ts";
import { type ArchivedPage, measured } from "../archive/wacz-parts.ts";
import { IMPORT_LIMITS } from "./limits.ts";

/** What an archive is made of. */
export interface ArchiveSources {
  format: "warc" | "wacz";
  /** As the archive lists them; none in a WARC file. */
  pages: ArchivedPage[];
  /** What made it, where the archive says so outside of its records. */
  software: string | null;
  /** Its WARC files, one after the other. */
  warcs: AsyncGenerator<Chunks>;
}

const ZIP = "PK";

/** @throws ArchiveError for what is no archive. */
export async function openArchive(file: FileHandle): Promise<ArchiveSources> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0);
  if (bytesRead < 2) throw new ArchiveError("the archive is empty");
  if (buffer.toString("latin1") === ZIP) return openWacz(await readZip(file, IMPORT_LIMITS.zip));
  const warcs = (async function* () {
    yield wholeFile(file);
  })();
  return { format: "warc", pages: [], software: null, warcs };
}

const PIECE_BYTES = 256 * 1024;

async function* wholeFile(file: FileHandle): AsyncGenerator<Uint8Array> {
  for (let at = 0; ; ) {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(PIECE_BYTES), 0, PIECE_BYTES, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** A field that cannot be read spoils no other. */
const Datapackage = z.object({
  software: z.string().max(200).optional().catch(undefined),
  mainPageUrl: z.string().max(IMPORT_LIMITS.url_chars).optional().catch(undefined),
  resources: z
    .array(z.object({ path: z.string(), hash: z.string().default("").catch("") }))
    .optional()
    .catch(undefined),
});
const Page = z.object({
  url: z.string().max(IMPORT_LIMITS.url_chars),
  ts: z.string().max(64).default("").catch(""),
  title: z.string().max(10_000).default("").catch(""),
});

async function openWacz(files: readonly ZipFile[]): Promise<ArchiveSources> {
  const named = new Map(files.map((file) => [file.name, file]));
  const warcs = files.filter(({ name }) => /^archive\/[^/\\]+\.warc(\.gz)?$/.test(name));
  if (warcs.length === 0)
    throw new ArchiveError("the zip has no WARC file in archive/: it is no WACZ");
  if (warcs.length > IMPORT_LIMITS.warcs)
    throw new ArchiveError(`the archive has more than ${IMPORT_LIMITS.warcs} WARC files`, {
      too_large: true,
    });
  const text = await textOf(named.get("datapackage.json"));
  const facts = Datapackage.safeParse(parsed(text)).data ?? {};
  const pages = pagesOf(await textOf(named.get("pages/pages.jsonl")));
  const main = facts.mainPageUrl;
  const ordered = pages.toSorted((a, b) => Number(b.url === main) - Number(a.url === main));
  const hashes = new Map(facts.resources?.map(({ path, hash }) => [path, hash]));
  return {
    format: "wacz",
    pages: ordered,
    software: facts.software ?? null,
    warcs: (async function* () {
      for (const warc of warcs) yield checkedHash(warc, hashes.get(warc.name));
    })(),
  };
}

async function textOf(file: ZipFile | undefined): Promise<string> {
  if (!file) return "";
  return (await collectUpTo(file.read(), IMPORT_LIMITS.list_bytes, file.name)).toString("utf8");
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

function pagesOf(text: string): ArchivedPage[] {
  const pages: ArchivedPage[] = [];
  for (const line of text.split("\n")) {
    const page = Page.safeParse(parsed(line));
    if (page.success && /^https?:/.test(page.data.url)) pages.push(page.data);
    if (pages.length >= IMPORT_LIMITS.pages) break;
  }
  return pages;
}

/** The package says what each of its files is. */
async function* checkedHash(warc: ZipFile, hash: string | undefined): AsyncGenerator<Uint8Array> {
  let found = "";
  yield* measured(warc.name, warc.read(), (file) => {
    found = file.hash;
  });
  if (hash?.startsWith("sha256:") && hash !== found)
    throw new ArchiveError(`${warc.name} does not have the hash that datapackage.json gives it`);
}
