import { createHmac, randomBytes } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { ConfigError } from "#shared/kit/env.ts";
import { errorMessage } from "#shared/kit/errors.ts";

const VARIABLE = "SVC_SECRET_KEY_FILE";
const KEY_BYTES = 32;
const LINE = /^flotilla-key-1:([A-Za-z0-9_-]{43})$/;
const MAX_BYTES = 64 * 1024;
const HEADER =
  "# Flotilla: the first key encrypts, all of them decrypt. Keep a copy away from the data.\n";

export interface Key {
  /** 16 hex digits, derived from the key; everything that it encrypts carries them. */
  readonly id: string;
  readonly bytes: Buffer;
}

const keyOf = (bytes: Buffer): Key => ({
  id: createHmac("sha256", bytes).update("flotilla key id 1").digest("hex").slice(0, 16),
  bytes,
});

const lineOf = ({ bytes }: Key): string => `flotilla-key-1:${bytes.toString("base64url")}\n`;

const newKey = (): Key => keyOf(randomBytes(KEY_BYTES));

const codeOf = (err: unknown): string =>
  err instanceof Error && "code" in err ? String(err.code) : "";

/**
 * The keys in the file `path`, the one that encrypts first; null when there is no such file.
 * @throws ConfigError naming the file and what is wrong with it
 */
export function readKeyFile(path: string): Key[] | null {
  let text: string;
  try {
    const found = statSync(path);
    if (!found.isFile() || found.size > MAX_BYTES)
      throw new ConfigError(`${VARIABLE}: ${path} is no file of keys`);
    text = readFileSync(path, "utf8");
  } catch (err) {
    if (err instanceof ConfigError) throw err;
    if (codeOf(err) === "ENOENT") return null;
    throw new ConfigError(`${VARIABLE}: cannot read ${path}: ${errorMessage(err)}`);
  }
  const keys: Key[] = [];
  for (const [i, raw] of text.split("\n").entries()) {
    const line = raw.trim();
    if (line === "" || line.startsWith("#")) continue;
    const [, encoded] = LINE.exec(line) ?? [];
    // The line itself is a secret, or was to be one.
    if (encoded === undefined)
      throw new ConfigError(`${VARIABLE}: line ${i + 1} of ${path} is not a key`);
    keys.push(keyOf(Buffer.from(encoded, "base64url")));
  }
  if (keys.length === 0) throw new ConfigError(`${VARIABLE}: ${path} holds no key`);
  return keys;
}

/** Writes the whole file, readable only by this user, under a temporary name; `take` moves it to its place. */
function write(path: string, keys: readonly Key[], take: (temp: string) => void): void {
  const temp = `${path}.new-${process.pid}-${randomBytes(4).toString("hex")}`;
  try {
    const fd = openSync(temp, "wx", 0o600);
    try {
      writeSync(fd, HEADER + keys.map(lineOf).join(""));
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    take(temp);
    const dir = openSync(dirname(path), "r");
    try {
      fsyncSync(dir);
    } finally {
      closeSync(dir);
    }
  } finally {
    rmSync(temp, { force: true });
  }
}

/**
 * Makes the file with one new key, or takes the file that another process has just made.
 * @returns the keys in it.
 * @throws ConfigError when it cannot be written
 */
export function makeKeyFile(path: string): { keys: Key[]; made: boolean } {
  const key = newKey();
  try {
    // If the name is taken, that file stays, so two hubs that start together end up with the same key.
    write(path, [key], (temp) => linkSync(temp, path));
    return { keys: [key], made: true };
  } catch (err) {
    const there = codeOf(err) === "EEXIST" ? readKeyFile(path) : null;
    if (there) return { keys: there, made: false };
    throw new ConfigError(`${VARIABLE}: cannot make ${path}: ${errorMessage(err)}`);
  }
}

/**
 * Puts a new key before the others in the file; it encrypts from now on.
 * @throws ConfigError
 */
export function addKey(path: string): Key[] {
  const keys = [newKey(), ...(readKeyFile(path) ?? [])];
  replaceKeys(path, keys);
  return keys;
}

/** @throws ConfigError when it cannot be written; the file is then as it was. */
export function replaceKeys(path: string, keys: readonly Key[]): void {
  try {
    write(path, keys, (temp) => renameSync(temp, path));
  } catch (err) {
    throw new ConfigError(`${VARIABLE}: cannot write ${path}: ${errorMessage(err)}`);
  }
}
