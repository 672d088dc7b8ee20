import { keySegments } from "./object-keys.ts";
import type { ObjectInfo, PutOptions, PutResult, SmallObject } from "./objects.ts";
import { bodyTooLong, checkBody, chunksOf } from "./put-body.ts";
import type { S3Calls } from "./s3-calls.ts";
import type { Leftovers } from "./s3-leftovers.ts";
import { createParts } from "./s3-parts.ts";
import type { Room, Slots } from "./s3-slots.ts";

/**
 * A body of up to this size goes in one request. S3 takes parts from 5 MB on, and 10,000 for one object, so no body may
 * exceed 52 GB.
 */
export const PART_BYTES = 5 * 1024 * 1024;
const MAX_BYTES = 10_000 * PART_BYTES;
/** Time for one try to send a part or a small body: 5 MB at 90 KB/s. */
const BODY_MS = 60_000;
/** Bodies of one batch on their way at once. */
const BATCH_AT_ONCE = 16;

export interface PutDeps {
  calls: S3Calls;
  slots: Slots;
  leftovers: Leftovers;
}

const sha256Of = (bytes: Uint8Array): string =>
  new Bun.CryptoHasher("sha256").update(bytes).digest("hex");

const putWhole = async (
  calls: S3Calls,
  key: string,
  bytes: Uint8Array,
  sha256: string,
): Promise<void> => {
  await calls.send({ method: "PUT", key, body: { bytes, sha256 }, deadline_ms: BODY_MS });
};

/**
 * As `ObjectStore.put`, in bounded memory: every part in memory takes one buffer of `slots`. The object appears only
 * with the last request, so whatever goes wrong before it leaves the old object.
 */
export async function putStream(
  deps: PutDeps,
  key: string,
  body: ReadableStream<Uint8Array> | Uint8Array,
  options: PutOptions,
): Promise<ObjectInfo> {
  const stop = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
  const max_bytes = Math.min(options.max_bytes ?? MAX_BYTES, MAX_BYTES);
  const hash = new Bun.CryptoHasher("sha256");
  const parts = createParts(deps, key, signal, (err) => stop.abort(err));
  let size = 0;
  let room: Room | null = null;
  let filled = 0;
  const sendPart = async () => {
    const { buffer, free } = room ?? nothing;
    await parts.send(buffer.subarray(0, filled), free);
    room = null;
    filled = 0;
  };
  try {
    for await (const chunk of chunksOf(body, signal)) {
      size += chunk.byteLength;
      if (size > max_bytes) throw bodyTooLong(max_bytes);
      hash.update(chunk);
      for (let at = 0; at < chunk.byteLength; ) {
        // A byte after a full part shows that the body has more than one part.
        if (filled === PART_BYTES) await sendPart();
        room ??= await deps.slots.take(signal);
        const piece = chunk.subarray(at, at + PART_BYTES - filled);
        room.buffer.set(piece, filled);
        filled += piece.byteLength;
        at += piece.byteLength;
      }
    }
    const info = { size, sha256: hash.digest("hex") };
    checkBody(info, options);
    if (parts.started) {
      await sendPart();
      await parts.sent();
      await options.confirm?.();
      await parts.complete();
    } else {
      await options.confirm?.();
      const { buffer } = room ?? nothing;
      await putWhole(deps.calls, key, buffer.subarray(0, filled), info.sha256);
    }
    return info;
  } catch (err) {
    stop.abort(err);
    await parts.abort();
    throw err;
  } finally {
    room?.free();
  }
}

/** Stands in for a buffer, for an empty body. */
const nothing: Room = { buffer: new Uint8Array(0), free: () => {} };

/** As `ObjectStore.putMany`; the bodies are in memory already. */
export async function putSmall(
  { calls }: PutDeps,
  objects: SmallObject[],
  confirm: () => Promise<void> = async () => {},
): Promise<PutResult[]> {
  const results = objects.map(({ key, body, size, sha256 }): PutResult => {
    try {
      keySegments(key);
      checkBody({ size: body.byteLength, sha256: sha256Of(body) }, { size, sha256 });
      return { size, sha256 };
    } catch (error) {
      return { error };
    }
  });
  await confirm();
  const left = [...objects.entries()].filter(([i]) => !("error" in (results[i] ?? {})));
  const work = async () => {
    for (let next = left.shift(); next; next = left.shift()) {
      const [i, { key, body, sha256 }] = next;
      await putWhole(calls, key, body, sha256.toLowerCase()).catch((error: unknown) => {
        results[i] = { error };
      });
    }
  };
  await Promise.all(Array.from({ length: BATCH_AT_ONCE }, work));
  return results;
}
