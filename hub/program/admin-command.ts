import { resetAdminPassword } from "#hub/platform/access/admin.ts";
import { openDb } from "#hub/platform/db/db.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { ConfigError, type EnvSource, UnavailableError } from "#shared/kit/env.ts";
import { silentLog } from "#shared/kit/log.ts";
import { becomeOwner } from "./cli/become-owner.ts";
import { EXIT, UsageError } from "./cli/exit.ts";
import type { Terminal } from "./cli/print.ts";
import { loadConfig } from "./variables/load.ts";

/**
 * `flotilla admin reset-password`: a new administrator password, printed once, stored as a hash
 * (rules/access#administrator). Anybody who can open the database may act as the administrator. A SQLite file has one
 * owner, so its hub must be stopped first.
 * @returns the exit code (`EXIT`).
 */
export async function runAdminCommand(
  [action]: string[],
  env: EnvSource,
  overrides: EnvSource,
  terminal: Terminal,
): Promise<number> {
  if (action !== "reset-password")
    throw new UsageError(`"${action}" is not an action of admin: reset-password`);
  try {
    const loaded = loadConfig("control", { env, flags: overrides });
    const { db_url, admin_password, data_dir } = loaded.config;
    for (const warning of loaded.warnings) terminal.err(`flotilla: warning: ${warning}\n`);
    becomeOwner(data_dir);
    const db = await openDb(db_url, { log: silentLog, lock_wait_ms: 0 });
    try {
      const password = await resetAdminPassword(db.settings, systemClock.now());
      terminal.out(`user admin, password ${password}\n`);
    } finally {
      await db.close();
    }
    if (admin_password !== null)
      terminal.err("flotilla: SVC_ADMIN_PASSWORD is set and takes precedence over it\n");
    return EXIT.ok;
  } catch (err) {
    if (err instanceof ConfigError && !(err instanceof UnavailableError))
      throw new UsageError(err.message);
    throw err;
  }
}
