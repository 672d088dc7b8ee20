import { quoteWord } from "#hub/platform/quote-word.ts";
import type { BucketVersions } from "#hub/platform/stores/s3-versions.ts";
import { type Bucket, bucketText } from "./manifest.ts";

/** Meant to be run as printed, with the credentials of the bucket's owner. */
function switchOn({ bucket, endpoint }: Bucket): string {
  const at = /\.amazonaws\.com$/.test(endpoint) ? "" : ` --endpoint-url ${quoteWord(endpoint)}`;
  return `aws s3api put-bucket-versioning --bucket ${bucket} --versioning-configuration Status=Enabled${at}`;
}

/** What a backup of the database alone cannot bring back, and what to do about it; null: the bucket keeps versions. */
export function versionsRisk(
  bucket: Bucket,
  versions: BucketVersions,
): { found: string; advice: string } | null {
  if (versions.state === "enabled") return null;
  if (versions.state === "unknown")
    return {
      found: `could not find out whether ${bucketText(bucket)} keeps versions: ${versions.reason}`,
      advice: versions.advice,
    };
  return {
    found: `${bucketText(bucket)}${versions.state === "suspended" ? " no longer keeps" : " keeps no"} versions, so a backup cannot bring back bodies that are deleted there later`,
    advice: switchOn(bucket),
  };
}
