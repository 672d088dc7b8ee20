import { type Key, readKeyFile } from "./key-file.ts";

/** At most this often, the file is read again for an unknown key. */
const LOOK_MS = 5_000;

export interface Keyring {
  /** The key that encrypts. */
  readonly first: Key;
  /** Null when the file has no such key. */
  find(id: string): Key | null;
}

export const keyringOf = (keys: readonly [Key, ...Key[]]): Keyring => ({
  first: keys[0],
  find: (id) => keys.find((key) => key.id === id) ?? null,
});

/** The keys of a file at the start, and those that were added since. */
export function followKeyFile(
  path: string,
  keys: readonly Key[],
  clock: { monotonic(): number },
): Keyring {
  const [first] = keys;
  if (!first) throw new Error("a key file holds at least one key");
  const known = new Map(keys.map((key) => [key.id, key]));
  let looked_at: number | null = null;
  const lookAgain = () => {
    const now = clock.monotonic();
    if (looked_at !== null && now - looked_at < LOOK_MS) return;
    looked_at = now;
    try {
      for (const key of readKeyFile(path) ?? []) known.set(key.id, key);
    } catch {
      // The file is being written just now: what is not found stays unreadable until the next read.
    }
  };
  return {
    first,
    find: (id) => {
      if (!known.has(id)) lookAgain();
      return known.get(id) ?? null;
    },
  };
}
