import { sqliteMigrations } from "#drizzle/migrations.gen.ts";
import { type AppliedMigration, findPending } from "./migrate.ts";
import { loadDriver } from "./sqlite-driver.ts";
import { lockFile } from "./sqlite-lock.ts";

/** How long a snapshot waits for a writer of the hub. */
const BUSY_TIMEOUT_MS = 30_000;

/**
 * Writes the state of the database `file` at one moment to the new file `to`, compacted. A hub may have it open and go
 * on writing: in WAL mode a reader blocks nobody.
 */
export async function snapshotSqlite(file: string, to: string): Promise<void> {
  const Driver = await loadDriver();
  const client = new Driver(file, { readonly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    client.prepare("vacuum into ?").run(to);
  } finally {
    client.close();
  }
}

/** Keeps hubs and control planes off the database `file` until the returned function is called. @throws UnavailableError when one uses it. */
export const lockSqlite = async (file: string): Promise<() => void> =>
  lockFile(await loadDriver(), file, 0);

export interface Snapshot {
  applied: AppliedMigration[];
  job_ids: Set<string>;
  /** Keys of the objects that rows name. */
  named: string[];
  /** Id of the key that cookies and profiles are encrypted with; null: they are not. */
  key_id: string | null;
}

/**
 * Reads what a snapshot holds. `thorough` also compares every index with its table, which takes several times as long.
 * @throws Error when the file is damaged, ConfigError when it is newer than this program.
 */
export async function readSnapshot(
  file: string,
  { thorough = false }: { thorough?: boolean } = {},
): Promise<Snapshot> {
  const Driver = await loadDriver();
  const client = new Driver(file, { readonly: true });
  try {
    // The file may come from anywhere: what its schema names must not run.
    client.pragma("trusted_schema = OFF");
    const check = thorough ? "integrity_check" : "quick_check";
    const damage = client.pragma(check, { simple: true });
    if (damage !== "ok") throw new Error(`the database is damaged: ${String(damage)}`);
    const all = <T>(sql: string): T[] => client.prepare<[], T>(sql).all();
    const applied = all<AppliedMigration>("select name, hash from schema_migrations order by name");
    const tables = new Set(
      all<{ name: string }>("select name from sqlite_master where type = 'table'").map(
        (t) => t.name,
      ),
    );
    findPending(applied, sqliteMigrations);
    const keys = (table: string, sql: string): string[] =>
      tables.has(table) ? all<{ key: string }>(sql).map(({ key }) => key) : [];
    const [key_id] = keys(
      "settings",
      "select json_extract(value, '$.key_id') as key from settings where key = 'secret_key_check'",
    );
    return {
      applied,
      key_id: key_id ?? null,
      job_ids: new Set(keys("jobs", "select job_id as key from jobs")),
      named: [
        ...keys("assets", "select 'jobs/' || job_id || '/assets/' || name as key from assets"),
        ...keys(
          "profiles",
          "select 'profiles/p-' || name || '/' || sha256 || '.tar.gz' as key from profiles",
        ),
        ...keys("plugin_blobs", "select object_key as key from plugin_blobs"),
      ],
    };
  } finally {
    client.close();
  }
}
