import { AppError } from "#shared/kit/errors.ts";
import type { DirectStore, ObjectInfo } from "./objects.ts";
import type { S3Calls } from "./s3-calls.ts";
import { percent } from "./s3-calls.ts";
import { deleteKeys, listPages } from "./s3-list.ts";
import { readStream } from "./s3-read.ts";

/** Where others put bodies; no key of the store's users begins with a dot. */
const INCOMING = ".direct";
/** S3 takes no more in one request, and copies no more. */
const MAX_BYTES = 5 * 1024 ** 3;
/** Time for the beginning of the request, which may then take as long as it needs. */
const EXPIRES_S = 900;
/** S3 copies internally, at hundreds of MB a second. */
const COPY_MS = 120_000;
/** A body that lies there for longer will not be claimed. */
const STALE_MS = 24 * 3_600_000;

const placeOf = (owner: string, id: string) => `${INCOMING}/${owner}/${id}`;
const checksumOf = (sha256: string) => Buffer.from(sha256, "hex").toString("base64");

/** Bodies that others put into the bucket themselves, each with a request that the hub has signed only for it. */
export const directStore = (calls: S3Calls): DirectStore => ({
  max_bytes: MAX_BYTES,
  begin: async (owner, { sha256 }) => {
    const id = crypto.randomUUID();
    const headers = { "x-amz-checksum-sha256": checksumOf(sha256) };
    const call = { method: "PUT", key: placeOf(owner, id), headers } as const;
    return { id, ...(await calls.presign(call, EXPIRES_S)) };
  },
  adopt: async (owner, id, key, info, confirm) => {
    const from = placeOf(owner, id);
    const etag = await check(calls, from, info);
    if (etag === null) return false;
    const remove = () => calls.send({ method: "DELETE", key: from, expect: [404] });
    await confirm().catch(async (err: unknown) => {
      await remove();
      throw err;
    });
    const source = `/${calls.place.bucket}/${(calls.place.prefix + from).split("/").map(percent).join("/")}`;
    const { status } = await calls.send({
      method: "PUT",
      key,
      // Copies the body that was checked, whatever came since, because the request may be used again while it is valid.
      headers: { "x-amz-copy-source": source, "x-amz-copy-source-if-match": etag },
      deadline_ms: COPY_MS,
      expect: [404, 412],
    });
    if (status !== 200) return false;
    await remove();
    return true;
  },
});

/**
 * The ETag of a body that matches its announcement; null when there is none.
 * @throws AppError invalid.
 */
async function check(calls: S3Calls, key: string, info: ObjectInfo): Promise<string | null> {
  const { status, headers } = await calls.send({
    method: "HEAD",
    key,
    headers: { "x-amz-checksum-mode": "ENABLED" },
    expect: [404],
  });
  if (status === 404) return null;
  const size = Number(headers.get("content-length"));
  const sum = headers.get("x-amz-checksum-sha256");
  const sha256 =
    sum === null ? await hashOf(calls, key) : Buffer.from(sum, "base64").toString("hex");
  if (size === info.size && sha256 === info.sha256) return headers.get("etag") ?? "";
  await calls.send({ method: "DELETE", key, expect: [404] });
  throw new AppError("invalid", `the body in the bucket has ${size} bytes and sha256 ${sha256}`);
}

/** For a server that keeps no checksums: the hub reads the body. */
async function hashOf(calls: S3Calls, key: string): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256");
  for await (const chunk of (await readStream(calls, key)) ?? []) hash.update(chunk);
  return hash.digest("hex");
}

/** Deletes bodies that were never claimed. */
export async function deleteStaleDirect(calls: S3Calls, signal: AbortSignal): Promise<void> {
  const is_stale = (changed: number) => calls.clock.now() - changed > STALE_MS;
  for await (const page of listPages(calls, INCOMING, is_stale)) {
    if (signal.aborted) return;
    await deleteKeys(calls, page);
  }
}
