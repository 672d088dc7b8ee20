import { drizzle } from "drizzle-orm/postgres-js";
import postgres, { type Options, type Sql } from "postgres";
import { pgKit } from "#drizzle/kit.pg.ts";
import { type Migration, pgMigrations } from "#drizzle/migrations.gen.ts";
import { defineTables } from "#drizzle/tables.ts";
import { ConfigError, UnavailableError } from "#shared/kit/env.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import type { Conn, Look, RawRow } from "./conn.ts";
import { type AppliedMigration, MIGRATIONS_TABLE, migrate } from "./migrate.ts";
import { errorCode, toUnavailable } from "./postgres-errors.ts";
import { holdHubLock, LOCK_SESSION } from "./postgres-lock.ts";
import { openPostgresQueue } from "./queue/postgres.ts";
import { type WatchedClient, watchedClient } from "./watched-client.ts";

const POOL_SIZE = 10;
/** The queue's own connections: two keep a server of two cores busy, and more gained nothing. */
const QUEUE_POOL_SIZE = 2;
const CONNECT_TIMEOUT_S = 5;
const IDLE_TIMEOUT_S = 60;
/** Pause between tries to reach a server that is away. Short, so calls fail at once instead of piling up. */
const RECONNECT_S = 0.1;
const STATEMENT_TIMEOUT_MS = 10_000;
/** For a server that stopped answering without closing; above its own statement timeout. */
const CALL_DEADLINE_MS = 15_000;
const CLOSE_TIMEOUT_S = 5;
/** Another hub may be applying a long migration. */
const MIGRATION_LOCK_TIMEOUT_MS = 120_000;
const MIGRATION_LOCK_ID = 0x666c6f74;
/** Longer statements are batches of any length; preparing each would fill the server with one-time statements. */
const MAX_PREPARED_PARAMS = 256;

export interface PostgresOptions {
  log: Log;
  pool_size?: number | undefined;
  /** How long a call may take in all before it is given up. */
  call_deadline_ms?: number;
  migrations?: readonly Migration[];
  /** How long to wait for a closing hub before this one is the only one on the database. */
  hub_lock_wait_ms?: number | undefined;
  look?: Look | undefined;
}

/** Connects to the server of `url` and brings the database up to date. */
export async function openPostgres(url: string, options: PostgresOptions): Promise<Conn> {
  const { log, call_deadline_ms = CALL_DEADLINE_MS, migrations = pgMigrations } = options;
  const { pool_size = POOL_SIZE } = options;
  let unlock = async () => {};
  try {
    // Before the migrations: a hub that may not run changes nothing under the one that does.
    if (options.hub_lock_wait_ms !== undefined)
      unlock = await holdHubLock(connect(url, LOCK_SESSION), options.hub_lock_wait_ms, log);
    await migratePostgres(url, migrations, log, options.look);
  } catch (err) {
    await unlock();
    if (err instanceof ConfigError) throw err;
    const Kind = toUnavailable(err) === null ? ConfigError : UnavailableError;
    throw new Kind(`SVC_DB_URL: cannot use the Postgres database: ${errorMessage(err)}`);
  }
  const open = () => openPool(url, pool_size);
  const openHot = () => openQueueClient(url, QUEUE_POOL_SIZE);
  return toConn({ call_deadline_ms, unlock, open, openHot });
}

/** The repositories' connections. */
function openPool(url: string, max: number): Sql {
  const client = connect(url, {
    max,
    idle_timeout: IDLE_TIMEOUT_S,
    connection: {
      application_name: "flotilla",
      statement_timeout: STATEMENT_TIMEOUT_MS,
      idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
    },
  });
  // It tells the client how to read and write times; the repositories' own Drizzle works over the current client.
  drizzle(client);
  return client;
}

const RECONNECT = {
  connect_timeout: CONNECT_TIMEOUT_S,
  backoff: () => RECONNECT_S,
  // Saves a query per connection; no column is an array.
  fetch_types: false,
  onnotice: () => {},
};

const connect = (url: string, options: Options<Record<string, never>>): Sql =>
  postgres(url, { ...RECONNECT, ...options });

/**
 * Makes the server plan the queue's statements by their indexes and in index order, whatever it knows of the tables. On
 * a table without statistics it would read and sort every ready task (120 ms for a claim out of 40,000 instead of 2).
 * Statements are planned once, not at every call.
 */
const PLANS = {
  enable_bitmapscan: "off",
  enable_seqscan: "off",
  plan_cache_mode: "force_generic_plan",
  jit: "off",
  // A batch of 10,000 is sorted in memory.
  work_mem: "16MB",
};

/** Connections as the queue needs them: its counts and ids are int8 and fit a number; the driver's own choice is text. */
export const openQueueClient = (url: string, max: number): Sql => {
  const bigint = { to: 20, from: [20], parse: Number, serialize: String };
  const connection = {
    application_name: "flotilla queue",
    statement_timeout: STATEMENT_TIMEOUT_MS,
    ...PLANS,
  };
  const options = { ...RECONNECT, max, connection, types: { bigint } };
  return postgres(url, options) as unknown as Sql;
};

/**
 * Brings the database up to date; returns the migrations that this call applied. Safe while other hubs and commands do
 * the same.
 */
export async function migratePostgres(
  url: string,
  migrations: readonly Migration[],
  log: Log,
  look?: Look,
): Promise<string[]> {
  const client = connect(url, {
    max: 1,
    connection: { application_name: "flotilla migrate", lock_timeout: MIGRATION_LOCK_TIMEOUT_MS },
  });
  try {
    // Held until this session ends, so of several hubs that start together one migrates and the others find it done.
    await client`select pg_advisory_lock(${MIGRATION_LOCK_ID})`;
    await look?.(settingReader(client));
    return await migrate(
      {
        prepare: async () => {
          await client.unsafe(MIGRATIONS_TABLE);
        },
        applied: async () =>
          client<AppliedMigration[]>`select name, hash from schema_migrations order by name`,
        apply: async (statements, { name, hash, applied_at }) => {
          await client.begin(async (tx) => {
            for (const statement of statements) await tx.unsafe(statement);
            await tx`insert into schema_migrations values (${name}, ${hash}, ${applied_at})`;
          });
        },
      },
      migrations,
      log,
    );
  } finally {
    await client.end({ timeout: CLOSE_TIMEOUT_S });
  }
}

const settingReader = (client: Sql) => async (name: string) => {
  const [about] = await client<[{ there: boolean }]>`
    select to_regclass('settings') is not null as there`;
  if (!about.there) return null;
  const [row] = await client<{ value: unknown }[]>`select value from settings where key = ${name}`;
  return row?.value ?? null;
};

interface Clients {
  call_deadline_ms: number;
  unlock: () => Promise<void>;
  open: () => Sql;
  openHot: () => Sql;
}

function toConn({ call_deadline_ms, unlock, open, openHot }: Clients): Conn {
  const queues: WatchedClient[] = [];
  const pool = watchedClient(open, call_deadline_ms);
  const client = pool.sql;
  const db = drizzle(withPrepare(client));
  const told = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (err) {
      throw toUnavailable(err) ?? err;
    }
  };
  return {
    dialect: "postgres",
    q: db,
    t: defineTables(pgKit),
    atomic: (statements) =>
      client.begin((tx) =>
        Promise.all(
          statements.map(async (statement): Promise<RawRow[]> => {
            const { sql, params } = statement.toSQL();
            return tx.unsafe<RawRow[]>(sql, asParams(params), prepared(params));
          }),
        ),
      ),
    lockRows: (select) => {
      // NO KEY UPDATE, so foreign keys of rows that other transactions insert meanwhile need not wait.
      (select as unknown as { for(strength: "no key update"): void }).for("no key update");
      return select;
    },
    isConflict: (err) => errorCode(err) === "23505",
    call: (work) => told(() => pool.use(work)),
    // Its connections have their own watch.
    callQueue: told,
    openQueue: ({ now: _now, ...options }) => {
      const hot = watchedClient(openHot, call_deadline_ms);
      queues.push(hot);
      return openPostgresQueue({ client: hot, ...options });
    },
    ping: async () => {
      await client`select 1`;
    },
    scrub: async () => {
      // All of them are small tables; contents that remain in the server's own log are the server's matter.
      await client`vacuum full hosts`;
      await client`vacuum full settings`;
      await client`vacuum full job_proxies`;
      return true;
    },
    close: async () => {
      await Promise.all([pool, ...queues].map((c) => c.end({ timeout: CLOSE_TIMEOUT_S })));
      await unlock();
    },
  };
}

type Params = NonNullable<Parameters<Sql["unsafe"]>[1]>;

const prepared = (params: readonly unknown[]) => ({
  prepare: params.length <= MAX_PREPARED_PARAMS,
});

/** Drizzle has encoded every parameter for the driver. */
const asParams = (params: unknown[]): Params => params as Params;

/** Drizzle asks for unprepared statements unless each is named; this client prepares the short ones by their text. */
const withPrepare = (client: Sql): Sql =>
  new Proxy(client, {
    get: (target, key) =>
      key === "unsafe"
        ? (sql: string, params: unknown[] = []) =>
            target.unsafe(sql, asParams(params), prepared(params))
        : Reflect.get(target, key, target),
  });
