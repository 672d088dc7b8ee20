import type { Db } from "#hub/platform/db/storage.ts";
import type { ObjectStore } from "#hub/platform/stores/objects.ts";
import { type Clock, withDeadline } from "#shared/kit/clock.ts";
import { AppError } from "#shared/kit/errors.ts";
import { KV_READ_TIMEOUT_MS } from "#shared/protocol/limits.ts";
import type { Degraded } from "#shared/protocol/schema/health.ts";

/** Whether the stores can still write: a full disk still answers every read. */

/** How long an answer is reused: a probe writes, and many may ask. */
const FRESH_MS = 5_000;
/** A row in the table of settings that has no meaning. */
const KEY = "health.probed_at";

export interface StoresHealth {
  /** The stores that cannot write now, with the reason; at most FRESH_MS old. */
  degraded(): Promise<Degraded[]>;
}

interface HealthDeps {
  readonly clock: Clock;
  readonly db: Pick<Db, "settings">;
  readonly objects: Pick<ObjectStore, "probe">;
  /** What is wrong with the scheduled backups; absent where there are none. */
  readonly backupTrouble?: () => Promise<Degraded | null>;
}

export function createStoresHealth({
  clock,
  db,
  objects,
  backupTrouble,
}: HealthDeps): StoresHealth {
  let told: { at: number; found: Promise<Degraded[]> } | null = null;
  const look = async (): Promise<Degraded[]> => {
    const found = await Promise.all([
      probe(clock, "database", db.settings.set(KEY, clock.now(), clock.now())),
      probe(clock, "object_store", objects.probe()),
      // A database that is away has already been reported.
      backupTrouble?.().catch(() => null) ?? null,
    ]);
    return found.filter((one) => one !== null);
  };
  return {
    degraded: () => {
      const now = clock.monotonic();
      if (told === null || now - told.at >= FRESH_MS) told = { at: now, found: look() };
      return told.found;
    },
  };
}

async function probe(
  clock: Clock,
  part: Degraded["part"],
  write: Promise<unknown>,
): Promise<Degraded | null> {
  try {
    await withDeadline(part, KV_READ_TIMEOUT_MS, write, clock);
    return null;
  } catch (err) {
    const known = err instanceof AppError && err.kind === "unavailable";
    return { part, detail: known ? err.message : "it does not answer" };
  }
}
