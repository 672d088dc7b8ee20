import { dirname, resolve } from "node:path";
import { loadHubConfig } from "#hub/platform/config.ts";
import { isPostgres, sqlitePath } from "#hub/platform/db/db.ts";
import {
  migrateDb,
  pendingOf,
  readSchemaState,
  type SchemaState,
} from "#hub/platform/db/schema-state.ts";
import type { EnvSource } from "#shared/kit/env.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { silentLog } from "#shared/kit/log.ts";
import type { FlagValues } from "../cli/args.ts";
import { becomeOwner } from "../cli/become-owner.ts";
import { EXIT } from "../cli/exit.ts";
import type { Terminal } from "../cli/print.ts";
import type { GatheredVariables } from "../variables/variable-sources.ts";
import { CommandRefused } from "./refused.ts";

export interface CommandDeps {
  /** Every given variable: environment, flags, secret files and configuration file, as a start reads them. */
  env: EnvSource;
  /** The source of every name in `env`. */
  origins: GatheredVariables["origins"];
  /** What the flags set, by the names of their variables. */
  overrides: EnvSource;
  flags: FlagValues;
  terminal: Terminal;
}

const reach = (url: string): Promise<SchemaState> =>
  readSchemaState(url).catch((err: unknown) => {
    throw new CommandRefused(`SVC_DB_URL: the database cannot be used: ${errorMessage(err)}`);
  });

/**
 * `flotilla migrate`: applies the migrations that the database lacks and lists them. Hubs do the same when they start;
 * if several start on Postgres, one of them applies each. `--dry-run` only reports: `EXIT.ok` up to date,
 * `migrations_pending`, or `no_database`.
 * @returns the exit code (`EXIT`). @throws ConfigError when the database is newer than this program.
 */
export async function runMigrate({ env, overrides, flags, terminal }: CommandDeps) {
  const { db_url } = loadHubConfig(env, overrides, "control");
  const file = isPostgres(db_url) ? null : sqlitePath(db_url);
  if (file !== null) becomeOwner(dirname(file));
  const state = await reach(db_url);
  const pending = pendingOf(state);
  if (flags["dry-run"] !== undefined) return tellState(db_url, state, pending, terminal);
  if (!state.exists && file === null) throw new CommandRefused(noDatabase(db_url));
  if (pending.length === 0 && state.applied.length > 0) {
    terminal.out(upToDate(state));
    return EXIT.ok;
  }
  const applied = await migrateDb(db_url, silentLog);
  for (const name of applied) terminal.out(`applied ${name}\n`);
  if (applied.length === 0) terminal.out(upToDate(await reach(db_url)));
  return EXIT.ok;
}

function tellState(url: string, state: SchemaState, pending: string[], terminal: Terminal) {
  if (!state.exists) {
    terminal.err(`flotilla: ${noDatabase(url)}\n`);
    return EXIT.no_database;
  }
  for (const name of pending) terminal.out(`missing ${name}\n`);
  if (pending.length > 0) return EXIT.migrations_pending;
  terminal.out(upToDate(state));
  return EXIT.ok;
}

const noDatabase = (url: string): string =>
  isPostgres(url)
    ? `the server has no database ${new URL(url).pathname.slice(1)}: create it with create database, or set SVC_DB_URL to another`
    : `there is no database at ${resolve(sqlitePath(url) ?? "")}: the first start of a hub creates it, or set --data-dir or SVC_DB_URL to where it is`;

const upToDate = ({ dialect, applied }: SchemaState): string =>
  `${dialect === "sqlite" ? "SQLite" : "Postgres"} is up to date: ${applied.length} migrations, the last is ${applied.at(-1)?.name ?? "none"}\n`;
