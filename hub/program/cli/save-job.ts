import { createHash, randomBytes } from "node:crypto";
import { lstatSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { isSafeName } from "#shared/protocol/names.ts";
import type { Asset } from "#shared/protocol/schema/asset.ts";
import type { HubClient } from "./hub-client.ts";

/** A file that takes longer than this to arrive is abandoned. */
const FILE_DEADLINE_MS = 600_000;
const PARALLEL = 4;
const DOCUMENTS = ["page.html", "log.txt", "links.json", "har.json"];

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

/** Streams `path` of the hub into `target` by way of a temporary name; false when the hub has no such file. */
async function saveFile(
  client: HubClient,
  path: string,
  dir: string,
  name: string,
  sha256: string | null,
): Promise<boolean> {
  const signal = AbortSignal.timeout(FILE_DEADLINE_MS);
  const response = await client.open(path, signal);
  if (response.status === 404 && sha256 === null) return false;
  if (!response.ok || !response.body) throw new Error(`the hub answered ${response.status}`);
  const temporary = join(dir, `.${randomBytes(6).toString("hex")}.part`);
  const writer = Bun.file(temporary).writer();
  try {
    const hash = createHash("sha256");
    for await (const chunk of response.body) {
      hash.update(chunk);
      writer.write(chunk);
      await writer.flush();
    }
    await writer.end();
    if (sha256 !== null && hash.digest("hex") !== sha256) throw new Error("checksum differs");
    renameSync(temporary, join(dir, name));
  } catch (err) {
    await Promise.resolve(writer.end()).catch(() => {});
    rmSync(temporary, { force: true });
    throw err;
  }
  return true;
}

/**
 * Writes page.html, log.txt, links.json, har.json and assets/ of a job below `out`. Nothing is ever written outside it, and no
 * file has its name before it is whole and its checksum right.
 */
export async function saveJob(
  client: HubClient,
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
    ...DOCUMENTS.map((name) => ({
      name,
      path: `/jobs/${job_id}/${name}`,
      to: dir,
      sha: null,
      shown: name,
    })),
    ...assets.map((asset) => ({
      name: asset.name,
      path: `/jobs/${job_id}/assets/${encodeURIComponent(asset.name)}`,
      to: assetDir,
      sha: asset.sha256,
      shown: `assets/${asset.name}`,
    })),
  ];
  const worker = async () => {
    for (let item = work.shift(); item; item = work.shift()) {
      try {
        if (!isSafeName(item.name)) throw new Error("is not a safe file name");
        if (await saveFile(client, item.path, item.to, item.name, item.sha))
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
