import { AppError } from "#shared/kit/errors.ts";
import type { S3Calls } from "./s3-calls.ts";
import type { Leftovers } from "./s3-leftovers.ts";
import { textOf } from "./s3-xml.ts";

/** Parts of one body on their way at once. */
const AT_ONCE = 3;
const PART_MS = 60_000;
/** S3 may take minutes to put the parts of a large object together. */
const COMPLETE_MS = 180_000;
/** Written into the object; it shows whether a completion whose answer was lost has happened. */
const UPLOAD_MARK = "x-amz-meta-upload";

/** An upload in parts: the first part begins it, completing it makes the object, aborting it removes it. */
export interface Parts {
  readonly started: boolean;
  /** Resolves when there is room for the next part, not when this one is stored; calls `free` when it is. */
  send(bytes: Uint8Array, free: () => void): Promise<void>;
  /** Resolves when every part is stored. */
  sent(): Promise<void>;
  complete(): Promise<void>;
  /** Leaves nothing behind, unless the upload was completed. */
  abort(): Promise<void>;
}

/** The calls of one upload of `key` in parts. */
function uploadCalls(calls: S3Calls, key: string) {
  const mark = crypto.randomUUID();
  /** Whether the object that exists now is that of this upload. */
  const isThere = async (): Promise<boolean> => {
    const { headers } = await calls.send({ method: "HEAD", key, expect: [404] });
    return headers.get(UPLOAD_MARK) === mark;
  };
  return {
    begin: async (): Promise<string> => {
      const { text } = await calls.send({
        method: "POST",
        key,
        query: { uploads: "" },
        headers: { [UPLOAD_MARK]: mark },
      });
      const id = textOf(text, "UploadId");
      if (id === null)
        throw new AppError("unavailable", "the object store did not start the upload");
      return id;
    },
    /** The ETag of the part; `number` counts from 1. */
    sendPart: async (
      id: string,
      number: number,
      bytes: Uint8Array,
      signal: AbortSignal,
    ): Promise<string> => {
      const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
      const { headers } = await calls.send({
        method: "PUT",
        key,
        query: { partNumber: String(number), uploadId: id },
        body: { bytes, sha256 },
        deadline_ms: PART_MS,
        signal,
      });
      return headers.get("etag") ?? "";
    },
    complete: async (id: string, etags: readonly string[]): Promise<void> => {
      const parts = etags.map(
        (etag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${etag}</ETag></Part>`,
      );
      const bytes = new TextEncoder().encode(
        `<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`,
      );
      const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
      const { status } = await calls.send({
        method: "POST",
        key,
        query: { uploadId: id },
        headers: { "content-type": "application/xml" },
        body: { bytes, sha256 },
        deadline_ms: COMPLETE_MS,
        expect: [404],
      });
      // The first try may have succeeded while its answer was lost.
      if (status === 404 && !(await isThere()))
        throw new AppError("unavailable", "the object store has lost the upload", {
          headers: { "Retry-After": "2" },
        });
    },
  };
}

/** `onFailure` is called with the first part that could not be sent. */
export function createParts(
  { calls, leftovers }: { calls: S3Calls; leftovers: Leftovers },
  key: string,
  signal: AbortSignal,
  onFailure: (err: unknown) => void,
): Parts {
  const upload = uploadCalls(calls, key);
  const etags: string[] = [];
  const running = new Set<Promise<void>>();
  let upload_id: string | null = null;
  let completed = false;

  const sendPart = async (id: string, number: number, bytes: Uint8Array): Promise<void> => {
    etags[number - 1] = await upload.sendPart(id, number, bytes, signal);
  };
  return {
    get started() {
      return upload_id !== null;
    },
    send: async (bytes, free) => {
      try {
        upload_id ??= await upload.begin();
        while (running.size >= AT_ONCE) await Promise.race(running);
        signal.throwIfAborted();
      } catch (err) {
        free();
        throw err;
      }
      const number = etags.push("");
      const part = sendPart(upload_id, number, bytes)
        .catch(onFailure)
        .finally(() => {
          free();
          running.delete(part);
        });
      running.add(part);
    },
    sent: async () => {
      await Promise.all(running);
      signal.throwIfAborted();
    },
    complete: async () => {
      await upload.complete(upload_id ?? "", etags);
      completed = true;
    },
    abort: async () => {
      await Promise.all(running);
      if (upload_id !== null && !completed) await leftovers.abort(key, upload_id);
    },
  };
}
