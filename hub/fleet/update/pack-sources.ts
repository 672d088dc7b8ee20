import { readFileSync } from "node:fs";
import { join } from "node:path";
import { writeTarGz } from "#shared/archive/write-tar.ts";
import { CARRIED_FILES } from "#shared/carried-files.ts";
import { hashFiles, readSources, type SourceFile, VERSION_FILE } from "#shared/protocol/version.ts";

/** zlib level: packed once, sent to every worker, and part of the binary. */
const LEVEL = 9;

/** What GET /worker-source.tar.gz answers with, and the version its sources have. */
export interface PackedSources {
  version: string;
  archive: Uint8Array;
}

/**
 * The sources below `root`, what is carried beside them and VERSION, as a tar.gz (rules/updates#worker-source): same files, same
 * bytes. All of the program is in it, because its version is the hash of all of it and a worker checks what it got.
 */
export async function packSources(root: string): Promise<PackedSources> {
  const sources = readSources(root);
  const version = hashFiles(sources);
  const carried = Object.keys(CARRIED_FILES).map((path) => ({
    path,
    body: readFileSync(join(root, path)),
  }));
  const named = { path: VERSION_FILE, body: Buffer.from(`${version}\n`) };
  const files = [named, ...carried, ...sources].sort((a, b) => (a.path < b.path ? -1 : 1));
  const chunks: Uint8Array[] = [];
  for await (const chunk of writeTarGz(entriesOf(files), LEVEL)) chunks.push(chunk);
  return { version, archive: Buffer.concat(chunks) };
}

async function* entriesOf(files: readonly SourceFile[]) {
  for (const { path, body } of files)
    yield {
      path: path.split("/"),
      size: body.byteLength,
      body: (async function* () {
        yield body;
      })(),
    };
}
