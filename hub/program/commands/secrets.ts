import { dirname } from "node:path";
import { profileKey } from "#hub/fleet/registries/profiles.ts";
import { type HubConfig, loadHubConfig } from "#hub/platform/config.ts";
import { openDb, sqlitePath } from "#hub/platform/db/db.ts";
import type { Db } from "#hub/platform/db/storage.ts";
import { type Conversion, type Converted, convertSecrets } from "#hub/platform/secrets/convert.ts";
import { checkFor, demandKey, KEY_CHECK } from "#hub/platform/secrets/key-check.ts";
import { addKey, makeKeyFile, readKeyFile } from "#hub/platform/secrets/key-file.ts";
import { followKeyFile, type Keyring } from "#hub/platform/secrets/keyring.ts";
import { openObjects } from "#hub/platform/stores/open-objects.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { becomeOwner } from "../cli/become-owner.ts";
import { EXIT, UsageError } from "../cli/exit.ts";
import type { CommandDeps } from "./migrate.ts";
import { CommandRefused } from "./refused.ts";

type Action = "status" | "rotate" | "decrypt" | "forget";
const ACTIONS: readonly string[] = ["status", "rotate", "decrypt", "forget"] satisfies Action[];

interface Opened {
  config: HubConfig;
  db: Db;
  /** Null: there is no file. */
  keys: Keyring | null;
  terminal: CommandDeps["terminal"];
}

const said = ({
  cookies,
  profiles,
  proxies,
}: Pick<Converted, "cookies" | "profiles" | "proxies">): string => {
  const text = `${cookies} cookies and ${profiles} profiles`;
  return proxies === 0 ? text : `${text} and the logins of ${proxies} proxies`;
};

/**
 * `flotilla secrets status|rotate|decrypt|forget`: shows the key of cookies and profiles, replaces it for all of them,
 * decrypts them (for a version that does not know keys), or deletes those whose key is lost. No hub may run; a SQLite
 * file that a hub has open is refused.
 * @returns the exit code (`EXIT`). @throws CommandRefused, ConfigError
 */
export async function runSecrets([word = ""]: string[], deps: CommandDeps): Promise<number> {
  if (!ACTIONS.includes(word))
    throw new UsageError(`"${word}" is not an action of secrets: ${ACTIONS.join(", ")}`);
  const config = loadHubConfig(deps.env, deps.overrides, "hub");
  const file = sqlitePath(config.db_url);
  becomeOwner(file === null ? config.data_dir : dirname(file));
  const db = await openDb(config.db_url, { log: silentLog, lock_wait_ms: 0 });
  try {
    const found = readKeyFile(config.secret_key_file);
    const keys = found && followKeyFile(config.secret_key_file, found, systemClock);
    const opened = { config, db, keys, terminal: deps.terminal };
    return await actions[word as Action](opened);
  } finally {
    await db.close();
  }
}

async function convert({ config, db }: Opened, keys: Keyring, to: Conversion): Promise<Converted> {
  const objects = await openObjects(config.objects_url, {
    log: silentLog,
    keys: config.object_keys,
  });
  try {
    return await convertSecrets({ db, objects, profileKey, keys }, to);
  } finally {
    await objects.close();
  }
}

/** @throws CommandRefused if something stayed unchanged */
function demandAll({ unreadable }: Converted): void {
  if (unreadable.cookies + unreadable.profiles + unreadable.proxies === 0) return;
  throw new CommandRefused(
    `${said(unreadable)} are encrypted with keys that are not in the file and stay unchanged: add the keys, or run flotilla secrets forget`,
  );
}

const actions: Record<Action, (opened: Opened) => Promise<number>> = {
  status: async ({ config, db, keys, terminal }) => {
    const stored = await db.settings.get(KEY_CHECK);
    terminal.out(
      keys === null
        ? `${config.secret_key_file} does not exist\n`
        : `${config.secret_key_file}: key ${keys.first.id} encrypts\n`,
    );
    demandKey(stored, keys, config.secret_key_file);
    terminal.out(
      stored === null
        ? "nothing is encrypted\n"
        : "the database is encrypted with a key from this file\n",
    );
    return EXIT.ok;
  },
  rotate: async (opened) => {
    const { config, db, keys, terminal } = opened;
    const path = config.secret_key_file;
    demandKey(await db.settings.get(KEY_CHECK), keys, path);
    const added = followKeyFile(path, addKey(path), systemClock);
    const done = await convert(opened, added, "seal");
    await db.settings.set(KEY_CHECK, checkFor(added), systemClock.now());
    await db.scrub(Number.POSITIVE_INFINITY);
    terminal.out(`${said(done)} are encrypted with the new key ${added.first.id}\n`);
    demandAll(done);
    terminal.out(`only the first key in ${path} is still needed, unless you keep older backups\n`);
    return EXIT.ok;
  },
  decrypt: async (opened) => {
    const { config, db, keys, terminal } = opened;
    demandKey(await db.settings.get(KEY_CHECK), keys, config.secret_key_file);
    if (keys) {
      const done = await convert(opened, keys, "open");
      demandAll(done);
      terminal.out(`${said(done)} are stored unencrypted from now on\n`);
    }
    await db.settings.delete(KEY_CHECK);
    terminal.out("the next start of this version encrypts them again\n");
    return EXIT.ok;
  },
  forget: async (opened) => {
    const { config, db, terminal } = opened;
    const keys =
      opened.keys ??
      followKeyFile(config.secret_key_file, makeKeyFile(config.secret_key_file).keys, systemClock);
    const done = await convert(opened, keys, "forget");
    await db.settings.set(KEY_CHECK, checkFor(keys), systemClock.now());
    terminal.out(`deleted ${said(done)} that no key in ${config.secret_key_file} opens\n`);
    return EXIT.ok;
  },
};
