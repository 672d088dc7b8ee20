import { statSync } from "node:fs";
import type { HubConfig } from "#hub/platform/config.ts";
import { readSchemaState } from "#hub/platform/db/schema-state.ts";
import { demandKey } from "#hub/platform/secrets/key-check.ts";
import { readKeyFile } from "#hub/platform/secrets/key-file.ts";
import { keyringOf } from "#hub/platform/secrets/keyring.ts";
import { ConfigError } from "#shared/kit/env.ts";
import { fingerprintOf, isPublicKey } from "#shared/protocol/update-proof.ts";
import { type Check, fail, ok, warn } from "./check.ts";

const name = "secrets";
const OTHERS = 0o077;

/** Checks that the key file exists, that only the service may read it, and that the database is encrypted with it. */
export async function checkSecrets({
  db_url,
  secret_key_file: path,
  makes_secret_key: makes,
}: Pick<HubConfig, "db_url" | "secret_key_file" | "makes_secret_key">): Promise<Check> {
  // Another check reports what is wrong with the database.
  const state = await readSchemaState(db_url).catch(() => null);
  try {
    const [first, ...more] = readKeyFile(path) ?? [];
    demandKey(state?.key_check ?? null, first ? keyringOf([first, ...more]) : null, path);
    if (!first)
      return makes
        ? ok(name, `the first start creates ${path}`)
        : warn(
            name,
            "cookies and profiles are stored unencrypted",
            "set SVC_SECRET_KEY_FILE; the first hub creates the file, copy it to the others",
          );
    const mode = statSync(path).mode & 0o777;
    if ((mode & OTHERS) !== 0)
      return fail(
        name,
        `others may read ${path} (mode ${mode.toString(8)})`,
        `run chmod 600 ${path}; anybody who has read it can decrypt the data: flotilla secrets rotate makes a new key`,
      );
    const key = state?.update_key ?? "";
    const signs = isPublicKey(key)
      ? `; updates are signed with ${fingerprintOf(key)} (${key})`
      : "";
    return ok(name, `key ${first.id} in ${path}${signs}`);
  } catch (err) {
    if (!(err instanceof ConfigError)) throw err;
    const [found = "", ...advice] = err.message.replace(/^SVC_SECRET_KEY_FILE: /, "").split(": ");
    return fail(name, found, advice.join(": "));
  }
}
