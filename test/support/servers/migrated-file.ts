import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { migrateSqlite } from "#hub/platform/db/sqlite.ts";
import { silentLog } from "#shared/kit/log.ts";

/** Bun gives every test file modules of its own, so what the process keeps lies outside of them. */
const kept = globalThis as { flotillaMigratedFile?: Promise<Buffer> };

async function migrateOne(): Promise<Buffer> {
  const dir = mkdtempSync(join(tmpdir(), "flotilla-migrated-"));
  try {
    const file = join(dir, "flotilla.db");
    await migrateSqlite(file, { log: silentLog, lock_wait_ms: 0 });
    return readFileSync(file);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Writes a database file with every migration applied: to apply them is a quarter of what a hub's start and end cost. */
export async function writeMigratedFile(file: string): Promise<void> {
  kept.flotillaMigratedFile ??= migrateOne();
  const bytes = await kept.flotillaMigratedFile;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, bytes, { mode: 0o600 });
}
