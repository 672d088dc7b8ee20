import { type Clock, systemClock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { createS3Calls } from "./s3-calls.ts";
import { readS3Url, type S3Keys } from "./s3-url.ts";
import { textOf } from "./s3-xml.ts";

/** Whether a bucket keeps deleted and overwritten objects; `unknown`: the server did not tell, for this reason. */
export type BucketVersions =
  | { state: "enabled" | "suspended" | "never_enabled" }
  | { state: "unknown"; reason: string; advice: string };

/** Answers of servers that may not or cannot tell; asking again changes nothing. */
const REFUSALS = [403, 405, 501];
const STATES: Record<string, "enabled" | "suspended"> = {
  Enabled: "enabled",
  Suspended: "suspended",
};
const LOOK = "look at the bucket's settings yourself";

/**
 * Asks the bucket of `url` (GetBucketVersioning). Never rejects for what the server does, because that is an answer
 * too.
 */
export async function askVersions(
  url: string,
  keys: S3Keys | null,
  { clock = systemClock }: { clock?: Clock } = {},
): Promise<BucketVersions> {
  const place = readS3Url(url);
  if (keys === null)
    return {
      state: "unknown",
      reason: "there are no keys to ask it with",
      advice: "set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY",
    };
  const calls = createS3Calls(place, keys, { clock, random: Math.random });
  try {
    const query = { versioning: "" };
    const { status, text } = await calls.send({
      method: "GET",
      key: null,
      query,
      expect: REFUSALS,
    });
    return status === 200 ? stateOf(text) : refusalOf(status, text);
  } catch (err) {
    return { state: "unknown", reason: errorMessage(err), advice: LOOK };
  }
}

function stateOf(text: string): BucketVersions {
  // A server that does not know the question may list the bucket instead.
  if (!/<VersioningConfiguration[\s/>]/.test(text))
    return {
      state: "unknown",
      reason: "the server's answer does not say it",
      advice: LOOK,
    };
  return { state: STATES[textOf(text, "Status") ?? ""] ?? "never_enabled" };
}

function refusalOf(status: number, text: string): BucketVersions {
  const reason = `the server answers ${textOf(text, "Code") ?? `HTTP ${status}`}`;
  if (status === 403)
    return {
      state: "unknown",
      reason,
      advice: `give the key the right s3:GetBucketVersioning, or ${LOOK}`,
    };
  return {
    state: "unknown",
    reason,
    advice: "where the server keeps no versions, copy the bucket with its own tools",
  };
}
