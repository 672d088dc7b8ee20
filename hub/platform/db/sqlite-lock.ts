import type Client from "better-sqlite3";
import { systemClock } from "#shared/kit/clock.ts";
import { UnavailableError } from "#shared/kit/env.ts";

const RETRY_MS = 50;

/**
 * Makes this process the only one that uses `file` (rules/storage#one-process-for-each-sqlite-file): it holds an exclusive
 * transaction, until unlock, on an empty database file beside it. The kernel drops the lock however the process ends, and
 * the database itself stays readable for other programs (backup, inspection), which an exclusive lock on it would forbid.
 * @throws UnavailableError when another process holds the lock for longer than `wait_ms`.
 */
export async function lockFile(
  Driver: typeof Client,
  file: string,
  wait_ms: number,
): Promise<() => void> {
  const lock = new Driver(`${file}-lock`, { timeout: 0 });
  const giveUpAt = performance.now() + wait_ms;
  for (;;) {
    try {
      lock.exec("begin exclusive");
      return () => void lock.close();
    } catch (err) {
      const busy = err instanceof Error && "code" in err && err.code === "SQLITE_BUSY";
      if (!busy || performance.now() >= giveUpAt) {
        lock.close();
        if (!busy) throw err;
        throw new UnavailableError(
          `SVC_DB_URL: ${file} is in use by another hub or control plane; several need Postgres, and several hubs SVC_REDIS_URL too`,
        );
      }
      await systemClock.sleep(RETRY_MS);
    }
  }
}
