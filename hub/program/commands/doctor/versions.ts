import type { HubConfig } from "#hub/platform/config.ts";
import { askVersions } from "#hub/platform/stores/s3-versions.ts";
import { withDeadline } from "#shared/kit/clock.ts";
import { bucketText } from "../backup/manifest.ts";
import { bucketOf } from "../backup/places.ts";
import { versionsRisk } from "../backup/versions-risk.ts";
import { type Check, ok, warn } from "./check.ts";

const ASK_MS = 40_000;

/** Checks whether the bucket can bring back deleted bodies: backups rely on it for that. */
export async function checkVersions({
  objects_url,
  object_keys,
}: Pick<HubConfig, "objects_url" | "object_keys">): Promise<Check> {
  const name = "bucket versions";
  const bucket = bucketOf(objects_url);
  if (bucket === null) return ok(name, "bodies are in a directory");
  const asked = askVersions(objects_url, object_keys);
  const risk = versionsRisk(bucket, await withDeadline("the bucket", ASK_MS, asked));
  if (risk !== null) return warn(name, risk.found, risk.advice);
  return ok(name, `${bucketText(bucket)} keeps versions, so backups leave bodies to it`);
}
