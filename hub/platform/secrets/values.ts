import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { Key } from "./key-file.ts";
import type { Keyring } from "./keyring.ts";

/**
 * Short secrets, each encrypted by itself with AES-256-GCM: `sealed:1:<key id>:<nonce, ciphertext and tag in
 * base64url>`. Its place is authenticated with it, so a value that is moved to another row cannot be opened.
 */

const VERSION = 1;
const SHAPE = /^sealed:1:([0-9a-f]{16}):([A-Za-z0-9_-]+)$/;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const PURPOSE = "flotilla values 1";

/** What names the place of a value: kind of row, its key, and the field within it. */
export type Place = readonly [kind: string, ...parts: string[]];

const derived = new WeakMap<Key, Buffer>();
/** A key is never used for two kinds of work. */
function valueKey(key: Key): Buffer {
  const known = derived.get(key);
  if (known) return known;
  const made = Buffer.from(hkdfSync("sha256", key.bytes, "", PURPOSE, 32));
  derived.set(key, made);
  return made;
}

const placeBytes = (place: Place): Buffer => Buffer.from(JSON.stringify([VERSION, ...place]));

/** Encrypts `text` for its place, with the first key. */
export function sealValue({ first }: Pick<Keyring, "first">, text: string, place: Place): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", valueKey(first), nonce, {
    authTagLength: TAG_BYTES,
  });
  cipher.setAAD(placeBytes(place));
  const sealed = Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final()]);
  const bytes = Buffer.concat([sealed, cipher.getAuthTag()]);
  return `sealed:${VERSION}:${first.id}:${bytes.toString("base64url")}`;
}

/** Id of the key that a value is encrypted with; null for one that is stored as it is. */
export const keyIdOf = (stored: string): string | null => SHAPE.exec(stored)?.[1] ?? null;

/** Why a value cannot be decrypted. */
export class Unopened extends Error {
  override readonly name = "Unopened";
}

/**
 * What `sealValue` was given for this place; a value that an earlier version stored unencrypted comes back as it is.
 * @throws Unopened when its key is missing, or it was not encrypted for this place
 */
export function openValue(keys: Pick<Keyring, "find">, stored: string, place: Place): string {
  const [, id, encoded] = SHAPE.exec(stored) ?? [];
  if (id === undefined || encoded === undefined) return stored;
  const key = keys.find(id);
  if (!key) throw new Unopened(`key ${id} is not in the key file`);
  const bytes = Buffer.from(encoded, "base64url");
  if (bytes.length < NONCE_BYTES + TAG_BYTES) throw new Unopened("it is cut off");
  const decipher = createDecipheriv("aes-256-gcm", valueKey(key), bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(placeBytes(place));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString("utf8");
  } catch {
    throw new Unopened("it was changed, or belongs to another place");
  }
}
