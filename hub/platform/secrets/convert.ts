import { chunksOf, streamOf } from "#shared/archive/streams.ts";
import type { StoredCookie } from "#shared/protocol/schema/cookie.ts";
import type { Db } from "../db/storage.ts";
import type { ObjectStore } from "../stores/objects.ts";
import { cookiePlace } from "./cookies.ts";
import type { Keyring } from "./keyring.ts";
import { convertProxies } from "./proxies.ts";
import { convertSetting, SECRET_SETTINGS } from "./sealed-settings.ts";
import { openStream, sealStream, streamKeyId } from "./streams.ts";
import { forgetUpdateKey, sealUpdateKey } from "./update-key.ts";
import { keyIdOf, openValue, sealValue, Unopened } from "./values.ts";

/** Hosts read at a time. */
const PAGE = 50;
/** How often to try: another process may be writing the cookies of a host. */
const TRIES = 5;

export interface ConvertDeps {
  db: Pick<Db, "hosts" | "job_proxies" | "profiles" | "settings">;
  objects: Pick<ObjectStore, "put" | "read" | "delete">;
  /** Object key of a version of a profile. */
  profileKey: (name: string, sha256: string) => string;
  keys: Keyring;
  signal?: AbortSignal;
}

/** How many were changed, by kind, and how many are encrypted with missing keys. */
export interface Converted {
  cookies: number;
  profiles: number;
  /** Proxies with a login. */
  proxies: number;
  unreadable: { cookies: number; profiles: number; proxies: number };
}

/**
 * What is done with everything that is stored encrypted, or was stored before there was a key. `seal` encrypts it with
 * the first key; `open` stores it unencrypted, for a version that does not know keys; `forget` deletes what no key
 * opens.
 */
export type Conversion = "seal" | "open" | "forget";

/** Null: leave it unchanged. Undefined: delete it. */
function changed(
  { keys }: ConvertDeps,
  to: Conversion,
  host: string,
  cookie: StoredCookie,
): string | null | undefined {
  const id = keyIdOf(cookie.value);
  const place = cookiePlace(host, cookie);
  if (to === "seal") {
    if (id === keys.first.id) return null;
    return sealValue(keys, openValue(keys, cookie.value, place), place);
  }
  if (id === null) return null;
  if (to === "open") return openValue(keys, cookie.value, place);
  try {
    openValue(keys, cookie.value, place);
    return null;
  } catch (err) {
    if (err instanceof Unopened) return undefined;
    throw err;
  }
}

async function convertHost(
  deps: ConvertDeps,
  to: Conversion,
  row: { host: string; cookies: StoredCookie[]; raw: unknown },
  done: Converted,
): Promise<boolean> {
  let count = 0;
  let unreadable = 0;
  const cookies = row.cookies.flatMap((cookie) => {
    try {
      const value = changed(deps, to, row.host, cookie);
      if (value === null) return [cookie];
      count += 1;
      return value === undefined ? [] : [{ ...cookie, value }];
    } catch (err) {
      if (!(err instanceof Unopened)) throw err;
      unreadable += 1;
      return [cookie];
    }
  });
  if (count > 0 && !(await deps.db.hosts.exchangeCookies(row.host, row.raw, cookies))) return false;
  done.cookies += count;
  done.unreadable.cookies += unreadable;
  return true;
}

async function convertCookies(deps: ConvertDeps, to: Conversion, done: Converted): Promise<void> {
  const { hosts } = deps.db;
  let after: string | null = null;
  for (let tries = 0; ; ) {
    const rows = await hosts.cookiesAfter(after, PAGE);
    for (const row of rows) {
      deps.signal?.throwIfAborted();
      tries += 1;
      // Another process has written them meanwhile, so they are read again.
      if (!(await convertHost(deps, to, row, done)) && tries < TRIES) break;
      after = row.host;
      tries = 0;
    }
    if (rows.length < PAGE && (rows.at(-1)?.host ?? after) === after) return;
  }
}

/** Id of the key that encrypts a stored archive now; null for none, undefined when there is no archive. */
async function archiveKey(
  { objects }: ConvertDeps,
  key: string,
): Promise<string | null | undefined> {
  const body = await objects.read(key);
  return body ? streamKeyId(chunksOf(body)) : undefined;
}

/** The store's error for a body that broke off has the reason as its cause. */
const isUnopened = (err: unknown): boolean =>
  err instanceof Unopened ||
  (err instanceof Error && err.cause !== undefined && isUnopened(err.cause));

type Outcome = "changed" | "as it was" | "unreadable";

async function convertProfile(
  deps: ConvertDeps,
  to: "seal" | "open",
  key: string,
  sha256: string,
): Promise<Outcome> {
  const { keys, objects, signal } = deps;
  const body = await objects.read(key);
  if (!body) return "as it was";
  const plain = openStream(keys, chunksOf(body), key);
  const options = { ...(signal && { signal }), ...(to === "open" && { sha256 }) };
  try {
    // The object changes in one step, so a reader gets either version whole.
    await objects.put(key, streamOf(to === "seal" ? sealStream(keys, plain, key) : plain), options);
    return "changed";
  } catch (err) {
    if (isUnopened(err)) return "unreadable";
    throw err;
  }
}

async function convertProfiles(deps: ConvertDeps, to: Conversion, done: Converted): Promise<void> {
  const { keys, objects } = deps;
  for (const { name, sha256 } of await deps.db.profiles.list()) {
    deps.signal?.throwIfAborted();
    const key = deps.profileKey(name, sha256);
    const id = await archiveKey(deps, key);
    if (id === undefined || (to === "seal" ? id === keys.first.id : id === null)) continue;
    if (to === "forget") {
      if (id === null || keys.find(id)) continue;
      await deps.db.profiles.delete(name);
      await objects.delete(key);
      done.profiles += 1;
      continue;
    }
    const outcome = await convertProfile(deps, to, key, sha256);
    if (outcome === "changed") done.profiles += 1;
    if (outcome === "unreadable") done.unreadable.profiles += 1;
  }
}

/**
 * Converts everything of a database and its store, a page of hosts and one profile at a time, even beside running hubs.
 */
export async function convertSecrets(deps: ConvertDeps, to: Conversion): Promise<Converted> {
  const done: Converted = {
    cookies: 0,
    profiles: 0,
    proxies: 0,
    unreadable: { cookies: 0, profiles: 0, proxies: 0 },
  };
  await convertCookies(deps, to, done);
  const proxies = await convertProxies(deps, to);
  done.proxies = proxies.changed;
  done.unreadable.proxies = proxies.unreadable;
  await convertProfiles(deps, to, done);
  const now = Date.now();
  for (const name of SECRET_SETTINGS)
    await convertSetting(deps.db.settings, deps.keys, { name, to, now });
  if (to === "seal") await sealUpdateKey(deps.db.settings, deps.keys, now);
  if (to === "forget") await forgetUpdateKey(deps.db.settings, deps.keys);
  return done;
}
