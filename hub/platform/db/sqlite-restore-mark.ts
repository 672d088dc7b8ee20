import { existsSync } from "node:fs";
import { ConfigError } from "#shared/kit/env.ts";

/** File beside a database whose data `flotilla restore` is replacing; it says what moves where. */
export const restoreJournal = (file: string): string => `${file}-restore.json`;

/** @throws ConfigError while half of a restore is in place. */
export function refuseHalfRestored(file: string): void {
  if (existsSync(restoreJournal(file)))
    throw new ConfigError(
      `SVC_DB_URL: a restore of ${file} was interrupted: run flotilla restore again, which finishes it`,
    );
}
