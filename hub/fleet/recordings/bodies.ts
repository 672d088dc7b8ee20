import { AppError, errorMessage, invalid, notFound } from "#shared/kit/errors.ts";
import { MOST_BODIES_BYTES, MOST_BODY_BYTES } from "#shared/recording/requests.ts";
import type { TraceUpload } from "../sessions/traces.ts";
import { type RecordingsContext, recordingPrefix, runIdOf } from "./runs.ts";

/** Bodies that the pages of a session received, beside its recording (rules/recordings#bodies-of-a-session). */

/** Below the recording's prefix, so that they go with it. */
const bodiesPrefix = (run_id: string): string => `${recordingPrefix(run_id)}/bodies`;
/** The type is in the last part of the key: nothing else knows it. */
const bodyKey = (run_id: string, sha256: string, mime: string): string =>
  `${bodiesPrefix(run_id)}/${sha256}/${Buffer.from(mime).toString("base64url")}`;
const partsOf = (key: string): { sha256: string; mime: string } => {
  const [mime = "", sha256 = ""] = key.split("/").reverse();
  return { sha256, mime: Buffer.from(mime, "base64url").toString() };
};

const MAX_MIME = 100;

const runOf = (session_id: string): string => runIdOf({ job_id: null, session_id, lease_token: 0 });

export interface BodyUpload extends TraceUpload {
  mime: string;
}

/**
 * Keeps one body of a session; of equal ones there is one.
 * @throws AppError invalid when its length is not told or its hash differs, not_found without a recording, too_large
 */
export async function storeBody(
  ctx: RecordingsContext,
  session_id: string,
  { body, size, sha256, signal, mime }: BodyUpload,
): Promise<{ size: number; sha256: string }> {
  if (size === undefined || !Number.isSafeInteger(size))
    throw invalid(["header", "Content-Length"], "is required");
  const run_id = runOf(session_id);
  const key = bodyKey(run_id, sha256, mime.slice(0, MAX_MIME));
  const known = await ctx.objects.stat(key);
  if (known) {
    await body.cancel().catch(() => {});
    return { size: known.size, sha256 };
  }
  if (size > MOST_BODY_BYTES)
    throw new AppError("too_large", `a body of a session has at most ${MOST_BODY_BYTES} bytes`);
  if (!(await ctx.db.recordings.reserveBody(run_id, size, MOST_BODIES_BYTES))) {
    if ((await ctx.db.recordings.get(run_id)) === null) throw notFound("recording");
    throw new AppError("too_large", `a session keeps at most ${MOST_BODIES_BYTES} bytes of bodies`);
  }
  const confirm = async () => {
    if ((await ctx.db.recordings.get(run_id)) === null) throw notFound("recording");
  };
  try {
    return await ctx.objects.put(key, body, { sha256, size, max_bytes: size, signal, confirm });
  } catch (err) {
    await ctx.db.recordings.reserveBody(run_id, -size, MOST_BODIES_BYTES).catch((why) => {
      ctx.log.warn({ run_id, err: errorMessage(why) }, "room for a body was not given back");
    });
    throw err;
  }
}

/** The hashes of the bodies that are kept of a recording. */
export async function keptBodies(
  ctx: RecordingsContext,
  run_id: string,
): Promise<ReadonlySet<string>> {
  const keys = await ctx.objects.list(bodiesPrefix(run_id));
  return new Set(keys.map((key) => partsOf(key).sha256));
}

/** @throws AppError not_found */
export async function bodyOf(
  ctx: RecordingsContext,
  session_id: string,
  sha256: string,
): Promise<{ key: string; mime: string; size: number }> {
  const [key] = await ctx.objects.list(`${bodiesPrefix(runOf(session_id))}/${sha256}`);
  const found = key === undefined ? null : await ctx.objects.stat(key);
  if (key === undefined || !found) throw notFound("body");
  return { key, mime: partsOf(key).mime, size: found.size };
}
