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

/** Reachable, of this program's schema, whole, and open for writing; what is tried is taken back. */
export async function checkDatabase({ db_url }: Pick<HubConfig, "db_url">): Promise<Check> {
  try {
    const state = await readSchemaState(db_url);
    if (!state.exists) return withoutDatabase(db_url, state);
    const found = describe(state);
    const pending = pendingOf(state);
    await tryWriting(db_url);
    if (Math.abs(skewIn(state)) > MAX_SKEW_MS) return fail(name, found, SET_CLOCK);
    if (state.dialect === "postgres" && Number.parseInt(state.version, 10) < 13)
      return warn(name, found, "Postgres 13 or later is what is tested");
    if (state.applied.length === 0)
      return ok(name, `${kindOf(state)}, empty: the first start makes the tables`);
    if (pending.length > 0)
      return warn(name, `${found}, ${pending.length} behind`, "flotilla migrate, or start the hub");
    return ok(name, `${found}, written and taken back`);
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
      "create database (guide: how-to/several-machines), or SVC_DB_URL must name the one that is there",
    );
  const file = resolve(sqlitePath(url) ?? "");
  return ok(name, `${kindOf(state)}, ${file} is empty or not there: the first start makes it`);
}

const NEWER = "the database was written by a newer version: install that one here";

/** By SQLSTATE, or the system's code. */
function adviceOnPostgres(err: unknown): string {
  const code = errorCode(err);
  const said = errorMessage(err);
  if (/newer/.test(said)) return NEWER;
  if (code === "28P01") return "the password in SVC_DB_URL is not that of the role";
  if (code.startsWith("28"))
    return "pg_hba.conf of the server must let this role in from this address (guide: how-to/several-machines)";
  if (code === "42501")
    return "the role in SVC_DB_URL must own the database: alter database … owner to …";
  if (code === "25006") return "this server is a standby: SVC_DB_URL must name the primary";
  if (code === "53300") return "the server has no connection left: raise its max_connections";
  if (code === "53100") return "the disk of the database server is full: free space there";
  if (/^57P/.test(code)) return "the server starts or stops: try again, and see its log";
  if (code === "ECONNREFUSED")
    return "nothing listens there: start Postgres, and see listen_addresses and the port in SVC_DB_URL";
  if (/ENOTFOUND|EAI_AGAIN/.test(code))
    return "the host name in SVC_DB_URL has no address: see /etc/hosts and DNS";
  if (/CONNECT_TIMEOUT|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/.test(code) || /within/.test(said))
    return "no answer comes from that host: is it up, and does a firewall let port 5432 through?";
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
    return `the file is damaged: stop the hub and flotilla restore FILE --force, which keeps ${file} beside it`;
  if (/READONLY|readonly|CANTOPEN|unable to open|EACCES|AUTH|permission/i.test(said))
    return adviceOnRights(file);
  if (/BUSY|LOCKED|locked/.test(said))
    return `another program holds it for writing: lsof ${file} names it`;
  if (/FULL|IOERR/.test(said)) return `the disk of ${file} is full or fails: df and dmesg say more`;
  return `look at ${file}: it must be a SQLite database that ${whoAmI()} may write`;
}

/** SQLite says only that it cannot open the file. */
function adviceOnRights(file: string): string {
  const at = existsSync(file) ? file : dirname(file);
  const { uid, mode } = statSync(at, { throwIfNoEntry: false }) ?? { uid: -1, mode: 0 };
  if (uid < 0)
    return `${whoAmI()} does not reach ${dirname(file)}: set SVC_DATA_DIR or SVC_DB_URL to where it may write`;
  const rights = (mode & 0o777).toString(8);
  return `${whoAmI()} may not write ${at} (owner ${uid}, mode ${rights}): chown it and its directory to the service's user, and see that the disk is not mounted read-only`;
}
