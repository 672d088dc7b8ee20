import { existsSync } from "node:fs";
import { ConfigError } from "#shared/kit/env.ts";

/** Beside a database whose data are being exchanged by `flotilla restore`; it says what moves where. */
export const restoreJournal = (file: string): string => `${file}-restore.json`;

/** @throws ConfigError while half of a restore is in place. */
export function refuseHalfRestored(file: string): void {
  if (existsSync(restoreJournal(file)))
    throw new ConfigError(
      `SVC_DB_URL: a restore of ${file} was cut off half way: run flotilla restore again, which finishes it`,
    );
}
