import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { isMissing } from "./put-error.ts";

/** The keys below the directory of `prefix`, sorted. */
export async function listKeys(dir: string, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  const walk = async (path: string, key: string): Promise<void> => {
    const entries = await readdir(path, { withFileTypes: true }).catch((err: unknown) => {
      if (isMissing(err)) return [];
      throw err;
    });
    for (const entry of entries) {
      if (entry.isDirectory()) await walk(join(path, entry.name), `${key}/${entry.name}`);
      else keys.push(`${key}/${entry.name}`);
    }
  };
  await walk(dir, prefix);
  return keys.sort();
}
