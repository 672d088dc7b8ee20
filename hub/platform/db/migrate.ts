import { createHash } from "node:crypto";
import type { Migration } from "#drizzle/migrations.gen.ts";
import { ConfigError } from "#shared/kit/env.ts";
import type { Log } from "#shared/kit/log.ts";

export interface AppliedMigration {
  name: string;
  hash: string;
}

/** What the migrator needs of a dialect. The owner holds the lock that keeps two hubs from migrating at once. */
export interface MigrationTarget {
  /** Creates `schema_migrations` when it is missing. */
  prepare(): Promise<void>;
  /** In the order they were applied. */
  applied(): Promise<AppliedMigration[]>;
  /** Runs the statements and records the migration, in one transaction. */
  apply(statements: string[], migration: AppliedMigration & { applied_at: number }): Promise<void>;
}

export const MIGRATIONS_TABLE = `create table if not exists schema_migrations (
  name text primary key not null, hash text not null, applied_at bigint not null)`;

const hashOf = (sql: string): string => createHash("sha256").update(sql).digest("hex");

const statementsOf = (sql: string): string[] =>
  sql
    .split("--> statement-breakpoint")
    .map((part) => part.trim())
    .filter((part) => part !== "");

/**
 * Brings the database to the newest of `migrations`; those already applied are only compared.
 * @throws ConfigError when the database holds a migration that is unknown here or has another content.
 */
export async function migrate(
  target: MigrationTarget,
  migrations: readonly Migration[],
  log: Log,
): Promise<string[]> {
  await target.prepare();
  const pending = findPending(await target.applied(), migrations);
  for (const { name, sql } of pending) {
    await target.apply(statementsOf(sql), { name, hash: hashOf(sql), applied_at: Date.now() });
    log.info({ migration: name }, "migration applied");
  }
  return pending.map((m) => m.name);
}

/**
 * The `migrations` that `applied` lacks, in order.
 * @throws ConfigError when a migration was applied that is unknown here or has another content.
 */
export function findPending(
  applied: readonly AppliedMigration[],
  migrations: readonly Migration[],
): Migration[] {
  const known = new Map(migrations.map((m) => [m.name, hashOf(m.sql)]));
  for (const { name, hash } of applied) {
    const expected = known.get(name);
    if (expected === undefined)
      throw new ConfigError(
        `SVC_DB_URL: the database is newer than this program: it has migration ${name}, which this version does not know`,
      );
    if (expected !== hash)
      throw new ConfigError(
        `SVC_DB_URL: migration ${name} was applied with another content than in this program (hash ${hash.slice(0, 12)}, expected ${expected.slice(0, 12)})`,
      );
  }
  const done = new Set(applied.map((m) => m.name));
  return migrations.filter((m) => !done.has(m.name));
}
