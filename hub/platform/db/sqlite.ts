import { closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type Client from "better-sqlite3";
import { drizzle } from "drizzle-orm/better-sqlite3";
import { sqliteKit } from "#drizzle/kit.sqlite.ts";
import { type Migration, sqliteMigrations } from "#drizzle/migrations.gen.ts";
import { defineTables } from "#drizzle/tables.ts";
import { ConfigError, UnavailableError } from "#shared/kit/env.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { OWN_FILE, tightenMode } from "#shared/kit/own-dir.ts";
import type { Conn, Look, RawRow, Statement } from "./conn.ts";
import { type AppliedMigration, MIGRATIONS_TABLE, migrate } from "./migrate.ts";
import { openSqliteQueue } from "./queue/sqlite.ts";
import { loadDriver } from "./sqlite-driver.ts";
import { codeOf, toUnavailable } from "./sqlite-errors.ts";
import { type CommitGroup, createCommitGroup } from "./sqlite-group.ts";
import { lockFile } from "./sqlite-lock.ts";
import { refuseHalfRestored } from "./sqlite-restore-mark.ts";
import { whyNotOpen } from "./why-not-open.ts";

const BUSY_TIMEOUT_MS = 5_000;
const CHECKPOINT_PAGES = 4_000;
/** The WAL file is cut back to this after a burst. */
const MAX_WAL_BYTES = 64 * 1024 * 1024;
/** At most this; it holds the working set of a queue of 100,000 tasks. */
const CACHE_KIB = 64 * 1024;
/** Filters and batch lengths make a few hundred different texts; beyond that, the oldest is dropped. */
const MAX_CACHED_STATEMENTS = 500;

export interface SqliteOptions {
  log: Log;
  /** How long to wait for a hub that is still closing the same file. */
  lock_wait_ms: number;
  migrations?: readonly Migration[];
  look?: Look | undefined;
}

/** Opens (and creates) the database file `path`, or `:memory:`, and brings it up to date. */
export async function openSqlite(path: string, options: SqliteOptions): Promise<Conn> {
  const { client, unlock } = await openMigrated(path, options);
  return toConn(client, unlock);
}

/** Brings the database file `path` up to date, creating it when there is none; returns the applied migrations. */
export async function migrateSqlite(path: string, options: SqliteOptions): Promise<string[]> {
  const { client, unlock, applied } = await openMigrated(path, options);
  client.close();
  unlock();
  return applied;
}

async function openMigrated(path: string, options: SqliteOptions) {
  const { log, lock_wait_ms, migrations = sqliteMigrations } = options;
  const Driver = await loadDriver();
  const file = path === ":memory:" ? path : resolve(path);
  let unlock = () => {};
  let client: Client.Database | undefined;
  try {
    if (file !== ":memory:") {
      prepareDir(file);
      unlock = await lockFile(Driver, file, lock_wait_ms);
      refuseHalfRestored(file);
      makeFile(file, log);
    }
    client = openClient(Driver, file);
    await options.look?.(settingReader(client));
    const applied = await migrate(migrationTarget(client), migrations, log);
    return { client, unlock, applied };
  } catch (err) {
    client?.close();
    unlock();
    if (err instanceof ConfigError) throw err;
    const { words, full } = whyNotOpen(file, err);
    const Kind = full ? UnavailableError : ConfigError;
    throw new Kind(`SVC_DB_URL: cannot open ${file}: ${words}`);
  }
}

/** Accessible only to this user; SQLite gives its WAL and its journal the permissions of the database. */
function makeFile(file: string, log: Log): void {
  if (!existsSync(file)) closeSync(openSync(file, "a", OWN_FILE));
  try {
    const own = [file, `${file}-wal`, `${file}-shm`].filter((path) => existsSync(path));
    const changed = own.map((path) => tightenMode(path, OWN_FILE)).filter((one) => one !== null);
    if (changed.length > 0)
      log.warn({ changed }, "other users could read the database: their access was removed");
  } catch (err) {
    log.warn(
      { file, err: errorMessage(err) },
      "the database may be open to other users: its permissions cannot be changed",
    );
  }
}

function prepareDir(file: string): void {
  const dir = dirname(file);
  try {
    if (!existsSync(dir)) mkdirSync(dir, { recursive: true, mode: 0o700 });
  } catch (err) {
    throw new ConfigError(`SVC_DB_URL: cannot create ${dir}: ${errorMessage(err)}`);
  }
}

function openClient(Driver: typeof Client, file: string): Client.Database {
  const client = new Driver(file, { timeout: BUSY_TIMEOUT_MS });
  client.pragma("journal_mode = WAL");
  // WAL with NORMAL: a power cut can lose the newest commits but never corrupts; a process crash loses nothing.
  client.pragma("synchronous = NORMAL");
  client.pragma("foreign_keys = ON");
  // A checkpoint stops all work: one every 16 MB instead of every 4 halves what the queue pays for them.
  client.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  client.pragma(`journal_size_limit = ${MAX_WAL_BYTES}`);
  client.pragma(`cache_size = -${CACHE_KIB}`);
  return client;
}

const settingReader = (client: Client.Database) => async (name: string) => {
  const there = client.prepare("select 1 from sqlite_master where name = 'settings'").get();
  const row = there
    ? client
        .prepare<[string], { value: string }>("select value from settings where key = ?")
        .get(name)
    : undefined;
  return row ? JSON.parse(row.value) : null;
};

const migrationTarget = (client: Client.Database) => ({
  prepare: async () => {
    client.exec(MIGRATIONS_TABLE);
  },
  applied: async () =>
    client
      .prepare<[], AppliedMigration>("select name, hash from schema_migrations order by name")
      .all(),
  apply: async (statements: string[], m: AppliedMigration & { applied_at: number }) => {
    client
      .transaction(() => {
        for (const statement of statements) client.exec(statement);
        client
          .prepare("insert into schema_migrations values (?, ?, ?)")
          .run(m.name, m.hash, m.applied_at);
      })
      .immediate();
  },
});

function toConn(client: Client.Database, unlock: () => void): Conn {
  const file = client.memory ? null : client.name;
  const group = createCommitGroup(client);
  const prepare = statementCache(client, group);
  const db = drizzle(withCache(client, prepare));
  const run = (statement: Statement): RawRow[] => {
    const { sql, params } = statement.toSQL();
    const prepared = prepare(sql);
    if (prepared.reader) return prepared.all(...params) as RawRow[];
    prepared.run(...params);
    return [];
  };
  const together = client.transaction((statements: readonly Statement[]) => statements.map(run));
  const call: Conn["call"] = async (work) => {
    try {
      return await group.call(work);
    } catch (err) {
      throw toUnavailable(err, file) ?? err;
    }
  };
  return {
    dialect: "sqlite",
    // The builder calls are the same in both dialects; the contract suite runs every repository on a real Postgres too.
    q: db as unknown as Conn["q"],
    t: defineTables(sqliteKit),
    atomic: async (statements) => group.within(() => together.immediate(statements)),
    lockRows: (select) => select,
    isConflict: (err) => codeOf(err).startsWith("SQLITE_CONSTRAINT_PRIMARYKEY"),
    call,
    callQueue: call,
    openQueue: (options) => openSqliteQueue({ client, ...options }),
    ping: async () => {
      client.prepare("select 1").get();
    },
    scrub: async (max_bytes) => {
      const [pages, page_bytes] = ["page_count", "page_size"].map((name) =>
        Number(client.pragma(name, { simple: true })),
      );
      if ((pages ?? 0) * (page_bytes ?? 0) > max_bytes) return false;
      group.flush();
      client.exec("vacuum");
      client.pragma("wal_checkpoint(TRUNCATE)");
      return true;
    },
    close: async () => {
      if (!client.open) return;
      group.flush();
      client.close();
      unlock();
    },
  };
}

/** Prepared statements by their text, in rows-as-objects mode when handed out. */
function statementCache(
  client: Client.Database,
  group: CommitGroup,
): (sql: string) => Client.Statement<unknown[]> {
  const cache = new Map<string, Client.Statement<unknown[]>>();
  return (sql) => {
    const cached = cache.get(sql);
    if (cached) return cached.reader ? cached.raw(false) : cached;
    const prepared = group.join(client.prepare<unknown[]>(sql));
    if (cache.size >= MAX_CACHED_STATEMENTS) {
      const [oldest] = cache.keys();
      if (oldest !== undefined) cache.delete(oldest);
    }
    cache.set(sql, prepared);
    return prepared;
  };
}

/** The client as Drizzle uses it (`prepare` and `transaction`), with prepared statements kept. */
const withCache = (
  client: Client.Database,
  prepare: (sql: string) => Client.Statement<unknown[]>,
): Client.Database =>
  new Proxy(client, {
    get: (target, key) => (key === "prepare" ? prepare : Reflect.get(target, key, target)),
  });
