import { rmSync } from "node:fs";
import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import type { HubConfig } from "../config.ts";
import { openDb } from "../db/db.ts";
import type { Db } from "../db/storage.ts";
import { sealedHosts } from "./cookies.ts";
import { claimKey, KEY_CHECK, loadKeys } from "./key-check.ts";
import type { Keyring } from "./keyring.ts";
import { sealedJobProxies } from "./proxies.ts";

export interface SealedDb {
  /** Where there are keys, cookies are encrypted in it, and in clear only in what jobs get. */
  db: Db;
  /** The hosts' rows as stored. */
  stored_hosts: Db["hosts"];
  /** Null: secrets are stored unencrypted. */
  keys: Keyring | null;
}

interface Options {
  config: Pick<HubConfig, "db_url" | "db_pool_size" | "secret_key_file" | "makes_secret_key">;
  log: Log;
  clock: Clock;
  /** As of `openDb`. */
  as_hub: boolean;
}

/**
 * Opens the database of a hub with the keys for its secrets; the file of keys is made where there is none yet and no
 * hub of another machine could need the same.
 * @throws ConfigError naming SVC_SECRET_KEY_FILE, before anything is written, when the database is encrypted with
 * another key
 */
export async function openSealedDb({ config, log, clock, as_hub }: Options): Promise<SealedDb> {
  const { secret_key_file: path, makes_secret_key: makes } = config;
  let loaded: Awaited<ReturnType<typeof loadKeys>> | undefined;
  const stored = await openDb(config.db_url, {
    log,
    pool_size: config.db_pool_size,
    as_hub,
    look: async (setting) => {
      loaded = await loadKeys({ path, makes }, () => setting(KEY_CHECK), clock);
    },
  });
  try {
    if (loaded === undefined) throw new Error("the database was opened without a look at its key");
    if (loaded === null) {
      log.warn(
        {},
        "cookies, profiles and logins of proxies are stored as they are: set SVC_SECRET_KEY_FILE, the same file at every hub of this database, to encrypt them",
      );
      return { db: stored, stored_hosts: stored.hosts, keys: null };
    }
    const { keys, made } = loaded;
    await claimKey(stored.settings, keys, path, clock.now()).catch((err) => {
      // Nothing is encrypted with it yet.
      if (made) rmSync(path, { force: true });
      throw err;
    });
    if (made)
      log.warn(
        { path, key_id: keys.first.id },
        "made the key that encrypts cookies and profiles: keep a copy of this file away from the data, no backup has it",
      );
    const db = {
      ...stored,
      hosts: sealedHosts(stored.hosts, { keys, log }),
      job_proxies: sealedJobProxies(stored.job_proxies, { keys, log }),
    };
    return { db, stored_hosts: stored.hosts, keys };
  } catch (err) {
    await stored.close();
    throw err;
  }
}
