import type { PgDatabase } from "drizzle-orm/pg-core";
import type { PostgresJsQueryResultHKT } from "drizzle-orm/postgres-js";
import type { Tables } from "#drizzle/tables.ts";
import type { FreedPlaces, QueueStore } from "./queue/queue-store.ts";

export interface QueueOptions {
  /** Names this process in the counters. */
  node: string;
  /** Epoch ms without the jumps of the wall clock; Postgres uses its own clock. */
  now: () => number;
  /** In [0, 1): spreads retries. */
  random: () => number;
  /** Called after a commit that left fewer tasks claimed, before the calls of that transaction are answered. */
  onFreed?: (freed: FreedPlaces) => void;
}

type Queries = PgDatabase<PostgresJsQueryResultHKT>;

/** A built statement, as every Drizzle query builder offers it. */
export interface Statement {
  toSQL(): { sql: string; params: unknown[] };
}

/** A row as the driver gives it: whole numbers beyond 2^31 may be strings, json is text in SQLite. */
export type RawRow = Record<string, unknown>;

/** Given a way to read a setting by its name (null where there is none); throws a ConfigError to refuse the database. */
export type Look = (setting: (name: string) => Promise<unknown>) => Promise<void>;

/**
 * One open database, the same for both dialects; repositories are written against this and nothing else. Postgres types
 * on purpose: what only one dialect has does not compile or fails in the SQLite suite.
 */
export interface Conn {
  dialect: "sqlite" | "postgres";
  q: Pick<Queries, "select" | "selectDistinct" | "insert" | "update" | "delete">;
  t: Tables;
  /**
   * Runs the statements in order in one transaction and returns the rows of each. It takes no callback, so no code can
   * await inside.
   */
  atomic(statements: Statement[]): Promise<RawRow[][]>;
  /** Makes `select` lock its rows until the end of its `atomic`. SQLite has one writer, so there it is a plain read. */
  lockRows<S extends Statement>(select: S): S;
  /** True for the error of an insert whose key another row has. */
  isConflict(err: unknown): boolean;
  /** Runs a repository call within its deadline; rejects with AppError unavailable when the database cannot be used. */
  call<T>(work: () => Promise<T>): Promise<T>;
  /** The same, for a call of the queue. */
  callQueue<T>(work: () => Promise<T>): Promise<T>;
  /** The workload pipeline's queue over this database, beside the repositories. Closed with the connection. */
  openQueue(options: QueueOptions): QueueStore;
  ping(): Promise<void>;
  /**
   * Removes earlier contents of rows from the database's own files; false where that is more than `max_bytes` of work.
   * Other calls wait meanwhile.
   */
  scrub(max_bytes: number): Promise<boolean>;
  close(): Promise<void>;
}
