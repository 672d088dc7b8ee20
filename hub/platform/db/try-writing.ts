import { statSync } from "node:fs";
import { resolve } from "node:path";
import { withDeadline } from "#shared/kit/clock.ts";
import { isPostgres, sqlitePath } from "./db.ts";
import { openLookClient } from "./look-client.ts";
import { loadDriver } from "./sqlite-driver.ts";

const DEADLINE_MS = 8_000;
const BUSY_TIMEOUT_MS = 5_000;
/** A larger file is not read as a whole, because that would take minutes. */
const MAX_CHECKED_BYTES = 512 * 2 ** 20;
const PROBE = "create table flotilla_doctor_probe (x int)";

/**
 * Creates a table in the database of `url`, as a migration would, and rolls it back; hubs may go on meanwhile. A SQLite
 * file of up to 512 MB is read as a whole too.
 * @throws the driver's error, or one that says what is damaged.
 */
export async function tryWriting(url: string): Promise<void> {
  if (isPostgres(url)) return withDeadline("the database", DEADLINE_MS, tryPostgres(url));
  const path = sqlitePath(url);
  if (path !== null && path !== ":memory:") await trySqlite(resolve(path));
}

async function tryPostgres(url: string): Promise<void> {
  const client = openLookClient(url, DEADLINE_MS);
  const taken_back = new Error("taken back");
  try {
    await client.begin(async (tx) => {
      await tx.unsafe(PROBE);
      throw taken_back;
    });
  } catch (err) {
    if (err !== taken_back) throw err;
  } finally {
    await client.end({ timeout: 1 });
  }
}

async function trySqlite(file: string): Promise<void> {
  const Driver = await loadDriver();
  const client = new Driver(file, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  try {
    if (statSync(file).size <= MAX_CHECKED_BYTES) {
      const damage = client.pragma("quick_check(1)", { simple: true });
      if (damage !== "ok") throw new Error(`the database is damaged: ${String(damage)}`);
    }
    client.exec("begin immediate");
    try {
      client.exec(PROBE);
    } finally {
      client.exec("rollback");
    }
  } finally {
    client.close();
  }
}
