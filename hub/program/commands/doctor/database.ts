import { existsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { HubConfig } from "#hub/platform/config.ts";
import { isPostgres, sqlitePath } from "#hub/platform/db/db.ts";
import { errorCode } from "#hub/platform/db/postgres-errors.ts";
import { pendingOf, readSchemaState, type SchemaState } from "#hub/platform/db/schema-state.ts";
import { tryWriting } from "#hub/platform/db/try-writing.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { hideCredentials } from "#shared/kit/hide-credentials.ts";
import { type Check, fail, ok, warn } from "./check.ts";
import { clockText, MAX_SKEW_MS, SET_CLOCK, skewOf } from "./clocks.ts";
import { whoAmI } from "./write.ts";

const name = "database";

/**
 * Checks that it is reachable, has this program's schema, is intact and can be written to; the trial write is undone.
 */
export async function checkDatabase({ db_url }: Pick<HubConfig, "db_url">): Promise<Check> {
  try {
    const state = await readSchemaState(db_url);
    if (!state.exists) return withoutDatabase(db_url, state);
    const found = describe(state);
    const pending = pendingOf(state);
    await tryWriting(db_url);
    if (Math.abs(skewIn(state)) > MAX_SKEW_MS) return fail(name, found, SET_CLOCK);
    if (state.dialect === "postgres" && Number.parseInt(state.version, 10) < 13)
      return warn(name, found, "use Postgres 13 or later: older versions are not tested");
    if (state.applied.length === 0)
      return ok(name, `${kindOf(state)}, empty: the first start creates the tables`);
    if (pending.length > 0)
      return warn(
        name,
        `${found}, ${pending.length} behind`,
        "run flotilla migrate, or start the hub",
      );
    return ok(name, `${found}, a trial write works`);
  } catch (err) {
    const advice = isPostgres(db_url) ? adviceOnPostgres(err) : adviceOnSqlite(err, db_url);
    return fail(name, hideCredentials(errorMessage(err)), advice);
  }
}

const kindOf = ({ dialect, version }: SchemaState): string =>
  `${dialect === "sqlite" ? "SQLite" : "Postgres"} ${version}`;

const skewIn = ({ clock }: SchemaState): number =>
  clock ? skewOf(clock.theirs, clock.asked, clock.answered) : 0;

const describe = (state: SchemaState): string =>
  `${kindOf(state)}, ${state.applied.length} migrations${state.clock ? `, ${clockText(skewIn(state))}` : ""}`;

function withoutDatabase(url: string, state: SchemaState): Check {
  if (state.dialect === "postgres")
    return fail(
      name,
      "the server has no database of this name",
      "create the database (guide: how-to/several-machines), or set SVC_DB_URL to an existing one",
    );
  const file = resolve(sqlitePath(url) ?? "");
  return ok(name, `${kindOf(state)}, ${file} is empty or missing: the first start creates it`);
}

const NEWER = "the database was written by a newer version: install that version here";

/** By SQLSTATE, or the system's code. */
function adviceOnPostgres(err: unknown): string {
  const code = errorCode(err);
  const said = errorMessage(err);
  if (/newer/.test(said)) return NEWER;
  if (code === "28P01") return "the password in SVC_DB_URL is not the role's password";
  if (code.startsWith("28"))
    return "pg_hba.conf of the server must let this role in from this address (guide: how-to/several-machines)";
  if (code === "42501")
    return "the role in SVC_DB_URL must own the database: alter database … owner to …";
  if (code === "25006") return "this server is a standby: SVC_DB_URL must name the primary";
  if (code === "53300")
    return "the server has no free connection: raise its max_connections, or lower SVC_DB_POOL_SIZE of the hubs";
  if (code === "53100") return "the database server's disk is full: free up space there";
  if (/^57P/.test(code)) return "the server is starting or stopping: try again, and see its log";
  if (code === "ECONNREFUSED")
    return "nothing listens there: start Postgres, and check listen_addresses and the port in SVC_DB_URL";
  if (/ENOTFOUND|EAI_AGAIN/.test(code))
    return "the host name in SVC_DB_URL does not resolve: check /etc/hosts and DNS";
  if (/CONNECT_TIMEOUT|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/.test(code) || /within/.test(said))
    return "that host does not answer: is it up, and does a firewall let port 5432 through?";
  if (/certificate|self.signed|CERT/i.test(`${code} ${said}`))
    return "NODE_EXTRA_CA_CERTS must name the PEM file of the authority that signed its certificate";
  return "see the log of the Postgres server; SVC_DB_URL names it";
}

function adviceOnSqlite(err: unknown, url: string): string {
  const file = resolve(sqlitePath(url) ?? "");
  const said = `${errorCode(err)} ${errorMessage(err)}`;
  if (/newer/.test(said)) return NEWER;
  if (/not supported; use/.test(said)) return "set SVC_DB_URL to sqlite:PATH or postgres://…";
  if (/NOTADB|CORRUPT|not a database|malformed|is damaged/i.test(said))
    return `the file is damaged: stop the hub and run flotilla restore FILE --force, which keeps the old ${file} next to it`;
  if (/READONLY|readonly|CANTOPEN|unable to open|EACCES|AUTH|permission/i.test(said))
    return adviceOnRights(file);
  if (/BUSY|LOCKED|locked/.test(said))
    return `another program has it locked: lsof ${file} shows which`;
  if (/FULL|IOERR/.test(said)) return `the disk of ${file} is full or failing: see df and dmesg`;
  return `check ${file}: it must be a SQLite database that ${whoAmI()} may write`;
}

/** SQLite says only that it cannot open the file. */
function adviceOnRights(file: string): string {
  const at = existsSync(file) ? file : dirname(file);
  const { uid, mode } = statSync(at, { throwIfNoEntry: false }) ?? { uid: -1, mode: 0 };
  if (uid < 0)
    return `${whoAmI()} cannot enter ${dirname(file)}: set SVC_DATA_DIR or SVC_DB_URL to a place where it may write`;
  const rights = (mode & 0o777).toString(8);
  return `${whoAmI()} may not write ${at} (owner ${uid}, mode ${rights}): chown it and its directory to the service's user, and make sure that the disk is not mounted read-only`;
}
