import { AppError } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { type Loop, startLoop } from "#shared/kit/loop.ts";
import type { S3Calls } from "./s3-calls.ts";
import { deleteStaleDirect } from "./s3-direct.ts";
import { blocksOf, textOf } from "./s3-xml.ts";

/** How often aborts that did not come through are tried again. */
const RETRY_EVERY_MS = 3_000;
/** An older upload in parts belongs to a hub that died; no upload of a live hub takes that long. */
const STALE_MS = 24 * 3_600_000;
const SWEEP_EVERY_MS = 3_600_000;

/** Uploads in parts that will never be completed: they take up space until they are aborted. */
export interface Leftovers {
  /** Aborts the upload now, or as soon as S3 answers again; never rejects. */
  abort(key: string, upload_id: string): Promise<void>;
  close(): Promise<void>;
}

export function startLeftovers(calls: S3Calls, log: Log): Leftovers {
  const waiting = new Map<string, string>();
  let swept_at = Number.NEGATIVE_INFINITY;

  const abortNow = async (key: string, upload_id: string, signal?: AbortSignal) => {
    await calls.send({
      method: "DELETE",
      key,
      query: { uploadId: upload_id },
      expect: [404],
      signal,
    });
    waiting.delete(upload_id);
  };
  const loop: Loop = startLoop({
    name: "unfinished uploads",
    everyMs: RETRY_EVERY_MS,
    clock: calls.clock,
    log,
    pass: async (signal) => {
      for (const [upload_id, key] of waiting) await abortNow(key, upload_id, signal);
      if (calls.clock.monotonic() - swept_at < SWEEP_EVERY_MS) return;
      swept_at = calls.clock.monotonic();
      await abortStale(calls, log, signal);
      await deleteStaleDirect(calls, signal);
    },
  });
  return {
    abort: async (key, upload_id) => {
      waiting.set(upload_id, key);
      await abortNow(key, upload_id).catch((err: unknown) => {
        if (!(err instanceof AppError)) throw err;
        log.warn({ err, key }, "an unfinished upload could not be removed yet");
      });
    },
    close: () => loop.stop(),
  };
}

/** Uploads that dead hubs have left. A server that does not list uploads removes them itself or by a bucket rule. */
async function abortStale(calls: S3Calls, log: Log, signal: AbortSignal): Promise<void> {
  const { prefix } = calls.place;
  const { status, text } = await calls.send({
    method: "GET",
    key: null,
    query: { uploads: "", ...(prefix === "" ? {} : { prefix }) },
    expect: [400, 403, 404, 405, 501],
    signal,
  });
  if (status !== 200) return;
  for (const upload of blocksOf(text, "Upload")) {
    const key = textOf(upload, "Key") ?? "";
    const uploadId = textOf(upload, "UploadId") ?? "";
    const started = Date.parse(textOf(upload, "Initiated") ?? "");
    if (!key.startsWith(prefix) || !(calls.clock.now() - started > STALE_MS)) continue;
    const own = key.slice(prefix.length);
    await calls.send({ method: "DELETE", key: own, query: { uploadId }, expect: [404], signal });
    log.info({ key: own }, "unfinished upload of an earlier run removed");
  }
}
