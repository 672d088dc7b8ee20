import { type Clock, systemClock } from "#shared/kit/clock.ts";
import { ConfigError, UnavailableError } from "#shared/kit/env.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { keySegments } from "./object-keys.ts";
import type { ObjectStore } from "./objects.ts";
import { createS3Calls, isAway, type S3Calls } from "./s3-calls.ts";
import { directStore } from "./s3-direct.ts";
import { startLeftovers } from "./s3-leftovers.ts";
import { deleteKeys, listPages } from "./s3-list.ts";
import { PART_BYTES, putSmall, putStream } from "./s3-put.ts";
import { readStream } from "./s3-read.ts";
import { createSlots } from "./s3-slots.ts";
import { readS3Url, type S3Keys } from "./s3-url.ts";
import { textOf } from "./s3-xml.ts";

/** Parts of bodies in memory at once: all uploads together may take 60 MB. */
const PARTS_IN_MEMORY = 12;

/**
 * The object store in a bucket: the object `a/b` is the key `<prefix>a/b`. The bucket must be there.
 * @throws ConfigError naming SVC_OBJECTS_URL when the bucket cannot be read and written.
 */
export async function openS3Objects(
  url: string,
  keys: S3Keys,
  { log, clock = systemClock }: { log: Log; clock?: Clock },
): Promise<ObjectStore> {
  const place = readS3Url(url);
  const calls = createS3Calls(place, keys, { clock, random: Math.random });
  await checkBucket(calls).catch((err: unknown) => {
    const Kind = isAway(err) ? UnavailableError : ConfigError;
    throw new Kind(
      `SVC_OBJECTS_URL: cannot use bucket ${place.bucket} at ${new URL(place.bucket_url).host}: ${errorMessage(err)}`,
    );
  });
  const leftovers = startLeftovers(calls, log);
  const put = { calls, leftovers, slots: createSlots(PARTS_IN_MEMORY, PART_BYTES) };
  const check = (key: string): string => {
    keySegments(key);
    return key;
  };
  return {
    put: async (key, body, options = {}) => {
      try {
        return await putStream(put, check(key), body, options);
      } catch (err) {
        if (body instanceof ReadableStream && !body.locked) await body.cancel(err).catch(() => {});
        throw err;
      }
    },
    putMany: (objects, confirm) => putSmall(put, objects, confirm),
    stat: async (key) => {
      const { status, headers } = await calls.send({
        method: "HEAD",
        key: check(key),
        expect: [404],
      });
      if (status === 404) return null;
      const tag = (headers.get("etag") ?? "").replace(/^W\/|"/g, "");
      return { size: Number(headers.get("content-length") ?? 0), tag };
    },
    probe: async () => {
      await calls.send({ method: "HEAD", key: check("probe"), expect: [404] });
    },
    read: async (key, range) => readStream(calls, check(key), range),
    delete: async (key) => {
      await calls.send({ method: "DELETE", key: check(key), expect: [404] });
    },
    deletePrefix: async (prefix) => {
      for await (const found of listPages(calls, check(prefix))) await deleteKeys(calls, found);
    },
    list: async (prefix) => {
      const keys: string[] = [];
      for await (const found of listPages(calls, check(prefix))) keys.push(...found);
      return keys.sort();
    },
    direct: directStore(calls),
    close: () => leftovers.close(),
  };
}

/** Lists, and begins and aborts an upload: this tests all that is needed and leaves nothing behind. */
async function checkBucket(calls: S3Calls): Promise<void> {
  const { prefix } = calls.place;
  await calls.send({
    method: "GET",
    key: null,
    query: { "list-type": "2", "max-keys": "1", ...(prefix === "" ? {} : { prefix }) },
  });
  const key = ".check";
  const { text } = await calls.send({ method: "POST", key, query: { uploads: "" } });
  const uploadId = textOf(text, "UploadId") ?? "";
  await calls.send({ method: "DELETE", key, query: { uploadId }, expect: [404] });
}
