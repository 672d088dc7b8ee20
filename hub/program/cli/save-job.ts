import { lstatSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { FlotillaError } from "#shared/client/errors.ts";
import type { Http } from "#shared/client/http.ts";
import type { Clock } from "#shared/kit/clock.ts";
import { ARCHIVED_DOCUMENTS } from "#shared/protocol/documents.ts";
import { isSafeName } from "#shared/protocol/names.ts";
import type { Asset } from "#shared/protocol/schema/asset.ts";
import { saveFile } from "./save-file.ts";

const PARALLEL = 4;

export interface SavedFiles {
  dir: string;
  files: string[];
  /** What could not be written, with the reason. */
  problems: { name: string; reason: string }[];
}

/** Creates `dir`, and refuses a link: a file written through it would land outside. */
function ownDirectory(dir: string): void {
  mkdirSync(dir, { recursive: true });
  if (!lstatSync(dir).isDirectory()) throw new Error(`${dir} is not a directory`);
}

/** Saves a file of a job; false when the hub has no such file. */
async function saveNamed(
  clock: Clock,
  open: (signal: AbortSignal) => Promise<Response>,
  dir: string,
  name: string,
  sha256: string | null,
): Promise<boolean> {
  try {
    await saveFile(clock, open, join(dir, name), sha256);
    return true;
  } catch (err) {
    if (err instanceof FlotillaError && err.status === 404 && sha256 === null) return false;
    throw err;
  }
}

/**
 * Writes the documents and assets/ of a job below `out`. Nothing is ever written outside it, and no file gets its name
 * before it is complete and its checksum is right.
 */
export async function saveJob(
  { client, clock }: { client: Http; clock: Clock },
  job_id: string,
  assets: Asset[],
  out: string,
): Promise<SavedFiles> {
  const dir = resolve(out);
  const assetDir = join(dir, "assets");
  mkdirSync(dir, { recursive: true });
  ownDirectory(assetDir);
  const saved: SavedFiles = { dir, files: [], problems: [] };
  const work = [
    ...ARCHIVED_DOCUMENTS.map((name) => ({
      name,
      open: (signal: AbortSignal) =>
        client.open(`GET /jobs/{id}/${name}`, { params: { id: job_id }, signal }),
      to: dir,
      sha: null,
      shown: name,
    })),
    ...assets.map((asset) => ({
      name: asset.name,
      open: (signal: AbortSignal) =>
        client.open("GET /jobs/{id}/assets/{name}", {
          params: { id: job_id, name: asset.name },
          signal,
        }),
      to: assetDir,
      sha: asset.sha256,
      shown: `assets/${asset.name}`,
    })),
  ];
  const worker = async () => {
    for (let item = work.shift(); item; item = work.shift()) {
      try {
        if (!isSafeName(item.name)) throw new Error("is not a safe file name");
        if (await saveNamed(clock, item.open, item.to, item.name, item.sha))
          saved.files.push(item.shown);
      } catch (err) {
        saved.problems.push({
          name: item.shown,
          reason: err instanceof Error ? err.message : String(err),
        });
      }
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
  saved.files.sort();
  return saved;
}
