import { ConfigError } from "#shared/kit/env.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import type { ObjectStore } from "./objects.ts";
import { openFsObjects } from "./objects-fs.ts";
import { openS3Objects } from "./objects-s3.ts";
import type { S3Keys } from "./s3-url.ts";

/**
 * Opens the object store of `url`: `file:<directory>`, or `s3://bucket[/prefix][?endpoint=…]` with `keys`.
 * @throws ConfigError naming SVC_OBJECTS_URL.
 */
export async function openObjects(
  url: string,
  { log, keys = null }: { log: Log; keys?: S3Keys | null },
): Promise<ObjectStore> {
  const [, scheme = "", rest = ""] = /^([a-z0-9+.-]+):(.*)$/is.exec(url.trim()) ?? [];
  const dir = rest.startsWith("//") ? rest.slice(2) : rest;
  if (scheme.toLowerCase() === "file" && dir !== "")
    return openFsObjects(dir, { log }).catch((err: unknown) => {
      throw new ConfigError(`SVC_OBJECTS_URL: cannot use ${dir}: ${errorMessage(err)}`);
    });
  if (scheme.toLowerCase() === "s3") {
    if (!keys)
      throw new ConfigError(
        "SVC_OBJECTS_URL: s3 needs keys; set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY",
      );
    return openS3Objects(url, keys, { log });
  }
  throw new ConfigError(
    `SVC_OBJECTS_URL: ${JSON.stringify(url)} is not supported; use file:<directory> or s3://bucket`,
  );
}
