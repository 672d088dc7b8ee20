import { ConfigError } from "#shared/env.ts";
import { errorMessage } from "#shared/errors.ts";
import type { Log } from "#shared/log.ts";
import type { ObjectStore } from "./objects.ts";
import { openFsObjects } from "./objects-fs.ts";

/**
 * Opens the object store of `url`: `file:<directory>`.
 * @throws ConfigError naming SVC_OBJECTS_URL.
 */
export async function openObjects(url: string, { log }: { log: Log }): Promise<ObjectStore> {
  const [, scheme = "", rest = ""] = /^([a-z0-9+.-]+):(.*)$/is.exec(url.trim()) ?? [];
  const dir = rest.startsWith("//") ? rest.slice(2) : rest;
  if (scheme.toLowerCase() === "file" && dir !== "")
    return openFsObjects(dir, { log }).catch((err: unknown) => {
      throw new ConfigError(`SVC_OBJECTS_URL: cannot use ${dir}: ${errorMessage(err)}`);
    });
  if (scheme.toLowerCase() === "s3")
    throw new ConfigError(
      "SVC_OBJECTS_URL: this version keeps objects on disk only; use file:<directory>",
    );
  throw new ConfigError(
    `SVC_OBJECTS_URL: ${JSON.stringify(url)} is not supported; use file:<directory>`,
  );
}
