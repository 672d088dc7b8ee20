import { generateKeyPairSync } from "node:crypto";
import type { Log } from "#shared/kit/log.ts";
import { publicKeyOf } from "#shared/protocol/update-proof.ts";
import type { Db } from "../db/storage.ts";
import type { Keyring } from "./keyring.ts";
import { keyIdOf, openValue, type Place, sealValue, Unopened } from "./values.ts";

/** Setting with the key of the installation, which all hubs and control planes of a database share. */
const UPDATE_KEY = "update_signing_key";
const PLACE: Place = ["update key"];

/** What hubs sign updates for workers with. */
export interface UpdateKey {
  /** In base64url, as workers keep it. */
  public: string;
  private_pem: string;
}

type Settings = Pick<Db["settings"], "get" | "add" | "set">;

interface Stored {
  public: string;
  private: string;
}

const readStored = (value: unknown): Stored | null =>
  typeof value === "object" && value !== null && "public" in value && "private" in value
    ? { public: String(value.public), private: String(value.private) }
    : null;

function makeKey(keys: Keyring | null): Stored {
  const { privateKey } = generateKeyPairSync("ed25519");
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  return { public: publicKeyOf(pem), private: keys ? sealValue(keys, pem, PLACE) : pem };
}

/**
 * The installation's key, made at the first start.
 * @param keys null: this process has no file of keys
 * @param makes whether to make the installation's key where there is none; without keys it is stored unencrypted
 * @returns null where it cannot be decrypted; updates then go out unsigned, and the log says so
 */
export async function openUpdateKey(
  settings: Settings,
  keys: Keyring | null,
  { makes, now, log }: { makes: boolean; now: number; log: Log },
): Promise<UpdateKey | null> {
  let stored = readStored(await settings.get(UPDATE_KEY));
  if (stored === null && makes) {
    await settings.add(UPDATE_KEY, makeKey(keys), now);
    stored = readStored(await settings.get(UPDATE_KEY));
  }
  if (stored === null) return null;
  const unsigned = (why: string) => {
    log.warn(
      { why },
      "updates cannot be signed: workers that have kept the key of this installation take none from here",
    );
    return null;
  };
  const private_pem = opens(keys ?? NO_KEYS, stored);
  if (private_pem !== null) return { public: stored.public, private_pem };
  return unsigned(
    keys
      ? "no key in SVC_SECRET_KEY_FILE opens the one that signs"
      : "SVC_SECRET_KEY_FILE: there is no such file",
  );
}

const NO_KEYS: Pick<Keyring, "find"> = { find: () => null };

const opens = (keys: Pick<Keyring, "find">, { private: sealed }: Stored): string | null => {
  try {
    return openValue(keys, sealed, PLACE);
  } catch (err) {
    if (err instanceof Unopened) return null;
    throw err;
  }
};

/** Encrypts it with the first key; a value that no key opens is left as it is. */
export async function sealUpdateKey(settings: Settings, keys: Keyring, now: number): Promise<void> {
  const stored = readStored(await settings.get(UPDATE_KEY));
  if (stored === null || keyIdOf(stored.private) === keys.first.id) return;
  const pem = opens(keys, stored);
  if (pem === null) return;
  await settings.set(UPDATE_KEY, { ...stored, private: sealValue(keys, pem, PLACE) }, now);
}

/** Deletes a value that no key opens: the next start makes another, which must be announced to workers. */
export async function forgetUpdateKey(
  settings: Pick<Db["settings"], "get" | "delete">,
  keys: Keyring,
): Promise<void> {
  const stored = readStored(await settings.get(UPDATE_KEY));
  if (stored !== null && opens(keys, stored) === null) await settings.delete(UPDATE_KEY);
}
