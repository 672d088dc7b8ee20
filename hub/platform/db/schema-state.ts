import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Sql } from "postgres";
import { type Migration, pgMigrations, sqliteMigrations } from "#drizzle/migrations.gen.ts";
import { withDeadline } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import { isPostgres, sqlitePath, unsupported } from "./db.ts";
import { openLookClient } from "./look-client.ts";
import { type AppliedMigration, findPending } from "./migrate.ts";
import { migratePostgres } from "./postgres.ts";
import { errorCode } from "./postgres-errors.ts";
import { migrateSqlite } from "./sqlite.ts";
import { loadDriver } from "./sqlite-driver.ts";

/** SQLSTATE of Postgres: the server has no database of that name. */
const INVALID_CATALOG_NAME = "3D000";
const CLOSE_TIMEOUT_S = 1;
const STATE_DEADLINE_MS = 8_000;

/** A database as it was found, without any change. */
export interface SchemaState {
  dialect: "sqlite" | "postgres";
  /** False: the file, or the server's database, does not exist. */
  exists: boolean;
  /** Version of the server or the library. */
  version: string;
  applied: AppliedMigration[];
  /** Epoch ms by the database's own clock, and by this process's clock around it; null where it has none. */
  clock: { theirs: number; asked: number; answered: number } | null;
  /** The check of the key that the database is encrypted with; null: it is not encrypted, or has no tables yet. */
  key_check: unknown;
  /** Public key that updates are signed with; null before the first start. */
  update_key: string | null;
}

const NO_SETTINGS = { key_check: null, update_key: null };

function settingsOf(rows: readonly { key: string; value: unknown }[]) {
  const of = (name: string) => rows.find(({ key }) => key === name)?.value ?? null;
  const signing = of("update_signing_key") as { public?: string } | null;
  return { key_check: of("secret_key_check"), update_key: signing?.public ?? null };
}

/**
 * Looks at the database of `url`; a SQLite file that is not there yet has nothing applied.
 * @throws ConfigError for another kind of URL; the driver's error when it cannot be reached within 8 s.
 */
export function readSchemaState(url: string): Promise<SchemaState> {
  if (isPostgres(url)) return withDeadline("the database", STATE_DEADLINE_MS, readPostgres(url));
  const path = sqlitePath(url);
  if (path === null) throw unsupported(url);
  return readSqlite(path);
}

async function readPostgres(url: string): Promise<SchemaState> {
  const client = openLookClient(url, STATE_DEADLINE_MS);
  try {
    const [about] = await client<[{ version: string; there: boolean; settings: boolean }]>`
      select current_setting('server_version') as version,
        to_regclass('settings') is not null as settings,
        to_regclass('schema_migrations') is not null as there`;
    const applied = about.there
      ? await client<AppliedMigration[]>`select name, hash from schema_migrations order by name`
      : [];
    const asked = Date.now();
    const [{ now }] = await client<[{ now: string }]>`
      select (extract(epoch from clock_timestamp()) * 1000)::bigint::text as now`;
    const clock = { theirs: Number(now), asked, answered: Date.now() };
    return {
      dialect: "postgres",
      exists: true,
      version: about.version,
      applied: [...applied],
      clock,
      ...(about.settings ? settingsOf(await readRows(client)) : NO_SETTINGS),
    };
  } catch (err) {
    if (errorCode(err) !== INVALID_CATALOG_NAME) throw err;
    return {
      dialect: "postgres",
      exists: false,
      version: "unknown",
      applied: [],
      clock: null,
      ...NO_SETTINGS,
    };
  } finally {
    await client.end({ timeout: CLOSE_TIMEOUT_S });
  }
}

const readRows = (client: Sql) =>
  client<{ key: string; value: unknown }[]>`
    select key, value from settings where key in ('secret_key_check', 'update_signing_key')`;

async function readSqlite(path: string): Promise<SchemaState> {
  const Driver = await loadDriver();
  const file = resolve(path);
  if (path === ":memory:" || !existsSync(file))
    return {
      dialect: "sqlite",
      exists: false,
      version: sqliteVersion(new Driver(":memory:")),
      applied: [],
      clock: null,
      ...NO_SETTINGS,
    };
  const client = new Driver(file, { readonly: true });
  try {
    const there = client
      .prepare("select 1 from sqlite_master where type = 'table' and name = 'schema_migrations'")
      .get();
    const applied = there
      ? client
          .prepare<[], AppliedMigration>("select name, hash from schema_migrations order by name")
          .all()
      : [];
    const version = sqliteVersion(client, false);
    const settings = there
      ? client
          .prepare<[], { key: string; value: string }>(
            "select key, value from settings where key in ('secret_key_check', 'update_signing_key')",
          )
          .all()
      : [];
    const rows = settings.map(({ key, value }) => ({ key, value: JSON.parse(value) }));
    return {
      dialect: "sqlite",
      exists: true,
      version,
      applied,
      clock: null,
      ...settingsOf(rows),
    };
  } finally {
    client.close();
  }
}

function sqliteVersion(client: InstanceType<Awaited<ReturnType<typeof loadDriver>>>, close = true) {
  const row = client.prepare<[], { version: string }>("select sqlite_version() as version").get();
  if (close) client.close();
  return row?.version ?? "unknown";
}

/** What this program's schema is made of. */
const migrationsOf = (dialect: SchemaState["dialect"]): readonly Migration[] =>
  dialect === "postgres" ? pgMigrations : sqliteMigrations;

/**
 * Names of the missing migrations.
 * @throws ConfigError when the database is newer than this program.
 */
export const pendingOf = (state: Pick<SchemaState, "dialect" | "applied">): string[] =>
  findPending(state.applied, migrationsOf(state.dialect)).map(({ name }) => name);

/**
 * Applies the missing migrations; returns the names of those that this call applied. Refuses a SQLite file that a hub
 * has open.
 * @throws ConfigError naming SVC_DB_URL.
 */
export async function migrateDb(url: string, log: Log): Promise<string[]> {
  if (isPostgres(url)) return migratePostgres(url, pgMigrations, log);
  const path = sqlitePath(url);
  if (path === null) throw unsupported(url);
  return migrateSqlite(path, { log, lock_wait_ms: 0 });
}
