import { createReadStream, mkdtempSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readKeyFile } from "#hub/platform/secrets/key-file.ts";
import { followKeyFile } from "#hub/platform/secrets/keyring.ts";
import { openStream } from "#hub/platform/secrets/streams.ts";
import { systemClock } from "#shared/kit/clock.ts";

let file: string | undefined;

/** The key file of hubs that share a database, as operators copy it from one to the other; gone with this process. */
export function commonKeyFile(): string {
  if (file) return file;
  const dir = mkdtempSync(join(tmpdir(), "flotilla-key-"));
  process.on("exit", () => rmSync(dir, { recursive: true, force: true }));
  file = join(dir, "secret.key");
  return file;
}

/** Decrypts what the hub with this data directory stored as the object `key`. */
export async function openObject(data_dir: string, key: string, to: string): Promise<void> {
  const file = join(data_dir, "secret.key");
  const keys = followKeyFile(file, readKeyFile(file) ?? [], systemClock);
  await writeFile(to, openStream(keys, createReadStream(join(data_dir, "objects", key)), key));
}
