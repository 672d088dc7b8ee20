import { keySegments } from "./object-keys.ts";
import type { ObjectInfo, PutOptions, PutResult, SmallObject } from "./objects.ts";
import { bodyTooLong, checkBody, chunksOf } from "./put-body.ts";
import type { S3Calls } from "./s3-calls.ts";
import type { Leftovers } from "./s3-leftovers.ts";
import { createParts, type Parts } from "./s3-parts.ts";
import type { Slots } from "./s3-slots.ts";

/** S3's smallest part; a body that is not longer goes in one request. */
const PART_BYTES = 5 * 1024 * 1024;
/** S3 takes no more parts of one object. */
const MAX_PARTS = 10_000;
/** A try to send one part or a small body: 5 MB at 90 KB/s. */
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

/** Larger parts for a body that would need too many. */
const partBytes = ({ size, max_bytes }: PutOptions): number =>
  Math.max(PART_BYTES, Math.ceil((size ?? max_bytes ?? 0) / MAX_PARTS));

const putWhole = async (
  calls: S3Calls,
  key: string,
  bytes: Uint8Array,
  sha256: string,
): Promise<void> => {
  await calls.send({ method: "PUT", key, body: { bytes, sha256 }, deadline_ms: BODY_MS });
};

/**
 * As `ObjectStore.put`, in bounded memory: what is in hand of all bodies takes a room of `slots` for each part. The object
 * appears with the last request alone, so whatever goes wrong before it leaves what was there.
 */
export async function putStream(
  deps: PutDeps,
  key: string,
  body: ReadableStream<Uint8Array> | Uint8Array,
  options: PutOptions,
): Promise<ObjectInfo> {
  const stop = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
  const limit = partBytes(options);
  const { max_bytes = Number.POSITIVE_INFINITY } = options;
  const hash = new Bun.CryptoHasher("sha256");
  const parts = createParts(deps, key, signal, (err) => stop.abort(err));
  let size = 0;
  let part = emptyPart();
  try {
    for await (const chunk of chunksOf(body, signal)) {
      size += chunk.byteLength;
      if (size > max_bytes) throw bodyTooLong(max_bytes);
      hash.update(chunk);
      for (let at = 0; at < chunk.byteLength; ) {
        // The next byte after a full part shows that the body has more than one.
        if (part.size === limit) {
          await parts.send(joined(part), part.free);
          part = emptyPart();
        }
        if (part.size === 0) part.free = await deps.slots.take(signal);
        const piece = chunk.subarray(at, at + limit - part.size);
        part.chunks.push(piece);
        part.size += piece.byteLength;
        at += piece.byteLength;
      }
    }
    const info = { size, sha256: hash.digest("hex") };
    checkBody(info, options);
    if (!parts.started) {
      await options.confirm?.();
      await putWhole(deps.calls, key, joined(part), info.sha256);
    } else await finish(parts, part, options);
    return info;
  } catch (err) {
    stop.abort(err);
    await parts.abort();
    throw err;
  } finally {
    part.free();
  }
}

async function finish(parts: Parts, last: Part, { confirm }: PutOptions): Promise<void> {
  await parts.send(joined(last), last.free);
  await parts.sent();
  await confirm?.();
  await parts.complete();
}

interface Part {
  chunks: Uint8Array[];
  size: number;
  free: () => void;
}
const emptyPart = (): Part => ({ chunks: [], size: 0, free: () => {} });
const joined = ({ chunks, size }: Part): Uint8Array => {
  const [only] = chunks;
  return only && chunks.length === 1 ? only : Buffer.concat(chunks, size);
};

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
