import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Kv, listedKind } from "./kv.ts";

/** State that the next start must find after the hub was killed; written a few times a minute. */
export type KeptEntries = Pick<Kv, "get" | "set" | "touch" | "delete" | "list">;

const SUFFIX = ".json";
/** Ids are URL-safe; the colon between kind and id is the one character that file systems may refuse. */
const fileOf = (key: string) => `${key.replace(":", "=")}${SUFFIX}`;
const keyOf = (file: string) => file.slice(0, -SUFFIX.length).replace("=", ":");

/**
 * Entries of a single hub, each in a file of `dir`, which only the hub's user may read. They outlive the process, but
 * not a power cut, because nothing waits for the disk. None expires by itself; a start that reads them removes expired
 * ones.
 */
export function openKeptFiles(dir: string): KeptEntries {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const read = <T>(file: string): T | null => {
    try {
      return JSON.parse(readFileSync(join(dir, file), "utf8")) as T;
    } catch {
      // Missing, or cut short by a power cut: in both cases nothing is known.
      return null;
    }
  };
  return {
    get: async <T>(key: string) => read<T>(fileOf(key)),
    set: async (key, value) => {
      const path = join(dir, fileOf(key));
      writeFileSync(`${path}.new`, JSON.stringify(value), { mode: 0o600 });
      renameSync(`${path}.new`, path);
    },
    touch: async () => true,
    delete: async (key) => rmSync(join(dir, fileOf(key)), { force: true }),
    list: async <T>(prefix: string) => {
      listedKind(prefix);
      const files = readdirSync(dir).filter((file) => file.endsWith(SUFFIX));
      return files
        .map((file) => ({ key: keyOf(file), value: read<T>(file) }))
        .filter((entry): entry is { key: string; value: T } => entry.value !== null)
        .filter(({ key }) => key.startsWith(prefix))
        .sort((a, b) => (a.key < b.key ? -1 : 1));
    },
  };
}
