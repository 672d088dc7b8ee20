import { drizzle } from "drizzle-orm/postgres-js";
import postgres, { type Sql } from "postgres";
import { pgKit } from "#drizzle/kit.pg.ts";
import { pgMigrations } from "#drizzle/migrations.gen.ts";
import { defineTables } from "#drizzle/tables.ts";
import { withDeadline } from "#shared/clock.ts";
import { ConfigError } from "#shared/env.ts";
import { AppError, errorMessage } from "#shared/errors.ts";
import type { Log } from "#shared/log.ts";
import type { Conn, RawRow } from "./conn.ts";
import { MIGRATIONS_TABLE, type AppliedMigration, migrate } from "./migrate.ts";

export async function openPostgres(url: string, { log }: { log: Log }): Promise<Conn> {
  throw new ConfigError("SVC_DB_URL: postgres is not here yet");
}
