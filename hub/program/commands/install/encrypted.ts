import { loadHubConfig } from "#hub/platform/config.ts";
import { readSchemaState } from "#hub/platform/db/schema-state.ts";
import { CommandRefused } from "../refused.ts";
import { readEnvText } from "./env-file.ts";
import { pathsOf } from "./plan.ts";
import { type Target, unitName } from "./roles.ts";
import type { System } from "./system.ts";
import { readText } from "./system-files.ts";

/**
 * Whether the database of a hub with these variables is encrypted. A database that cannot be read is no reason to keep
 * a machine on a version that does not work.
 */
export async function isEncrypted(values: Record<string, string>): Promise<boolean> {
  try {
    const { db_url } = loadHubConfig(values, {}, "hub");
    const { key_check } = await readSchemaState(db_url);
    return key_check !== null;
  } catch {
    return false;
  }
}

/** A version without `secrets` would send the ciphertext of cookies to their sites. */
export async function refuseEncrypted(
  system: System,
  program: string,
  version: string,
  targets: readonly Target[],
): Promise<void> {
  if (/^\s+secrets\s/m.test(await system.run([program, "--help"]))) return;
  for (const target of targets.filter(({ role }) => role === "hub")) {
    const { env } = pathsOf(target, "/");
    const values = readEnvText((await readText(env)) ?? "");
    if (await isEncrypted(values))
      throw new CommandRefused(
        `version ${version} cannot read the cookies and profiles of ${unitName(target)}, which are encrypted: ` +
          `stop it, run flotilla secrets decrypt --data-dir ${values.SVC_DATA_DIR ?? "DIR"} with this version (guide: how-to/upgrades), then roll back`,
      );
  }
}
