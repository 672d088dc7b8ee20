import { ConfigError } from "#shared/kit/env.ts";
import { makeKeyFile, readKeyFile } from "./key-file.ts";
import { followKeyFile, type Keyring, keyringOf } from "./keyring.ts";
import { openValue, sealValue } from "./values.ts";

/** Name of the setting that says which key a database is encrypted with; outside the prefixes that are listed. */
export const KEY_CHECK = "secret_key_check";

/** `check` opens only with the right key. */
interface KeyCheck {
  key_id: string;
  check: string;
}

interface Settings {
  get(key: string): Promise<unknown>;
  set(key: string, value: unknown, now: number): Promise<void>;
  add(key: string, value: unknown, now: number): Promise<boolean>;
}

const readCheck = (stored: unknown): KeyCheck | null =>
  typeof stored === "object" && stored !== null && "key_id" in stored && "check" in stored
    ? { key_id: String(stored.key_id), check: String(stored.check) }
    : null;

const placeOf = (key_id: string) => ["key check", key_id] as const;

export const checkFor = (keys: Pick<Keyring, "first">): KeyCheck => {
  const key_id = keys.first.id;
  return { key_id, check: sealValue(keys, key_id, placeOf(key_id)) };
};

const WHAT_NOW =
  "put the key file of the fleet's other hubs, or of your copy of it, there; to go on without these secrets run flotilla secrets forget";

/** @throws ConfigError when the database is encrypted with a key that is not among `keys` */
export function demandKey(stored: unknown, keys: Keyring | null, path: string): void {
  const found = readCheck(stored);
  if (found === null) return;
  const { key_id, check } = found;
  if (keys === null)
    throw new ConfigError(
      `SVC_SECRET_KEY_FILE: ${path} does not exist, and the cookies and profiles of this database are encrypted with key ${key_id}: ${WHAT_NOW}`,
    );
  if (!keys.find(key_id))
    throw new ConfigError(
      `SVC_SECRET_KEY_FILE: ${path} holds key ${keys.first.id}, and the cookies and profiles of this database are encrypted with key ${key_id}: ${WHAT_NOW}`,
    );
  try {
    openValue(keys, check, placeOf(key_id));
  } catch {
    throw new ConfigError(
      `SVC_SECRET_KEY_FILE: the check of key ${key_id} in the database was changed: restore the database from a backup`,
    );
  }
}

/**
 * The keys for a hub's start, before anything is written to its database; null where there is no file and none is to be
 * made. A missing file is not made when the database is already encrypted.
 * @param peek the check as the database has it now; null where there is none
 * @throws ConfigError that says which key is missing and what to do
 */
export async function loadKeys(
  { path, makes }: { path: string; makes: boolean },
  peek: () => Promise<unknown>,
  clock: { monotonic(): number },
): Promise<{ keys: Keyring; made: boolean } | null> {
  const found = readKeyFile(path);
  const [first, ...more] = found ?? [];
  demandKey(await peek(), first ? keyringOf([first, ...more]) : null, path);
  if (!found && !makes) return null;
  const opened = found ? { keys: found, made: false } : makeKeyFile(path);
  return { keys: followKeyFile(path, opened.keys, clock), made: opened.made };
}

/** Everything is encrypted with the first key by now, so the file no longer needs the others. */
export async function adoptFirst(settings: Settings, keys: Keyring, now: number): Promise<void> {
  const stored = readCheck(await settings.get(KEY_CHECK));
  if (stored !== null && stored.key_id !== keys.first.id)
    await settings.set(KEY_CHECK, checkFor(keys), now);
}

/**
 * Records which key the database is encrypted with. When hubs start together with different keys, one of them does, and
 * the others are refused.
 * @throws ConfigError
 */
export async function claimKey(
  settings: Settings,
  keys: Keyring,
  path: string,
  now: number,
): Promise<void> {
  const stored = await settings.get(KEY_CHECK);
  if (readCheck(stored) === null && (await settings.add(KEY_CHECK, checkFor(keys), now))) return;
  demandKey(stored ?? (await settings.get(KEY_CHECK)), keys, path);
}
