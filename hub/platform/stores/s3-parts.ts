import { AppError } from "#shared/kit/errors.ts";
import type { S3Calls } from "./s3-calls.ts";
import type { Leftovers } from "./s3-leftovers.ts";
import { textOf } from "./s3-xml.ts";

/** Parts of one body on their way at once. */
const AT_ONCE = 3;
const PART_MS = 60_000;
/** S3 may take minutes to put the parts of a large object together. */
const COMPLETE_MS = 180_000;
/** Written into the object: tells whether a completion whose answer was lost has happened. */
const UPLOAD_MARK = "x-amz-meta-upload";

/** An upload in parts: begun by the first of them, an object when it is completed, gone when it is aborted. */
export interface Parts {
  readonly started: boolean;
  /** Resolves when there is room for the next part, not when this one is stored; calls `free` when it is. */
  send(bytes: Uint8Array, free: () => void): Promise<void>;
  /** Resolves when every part is stored. */
  sent(): Promise<void>;
  complete(): Promise<void>;
  /** Leaves nothing behind, unless it was completed. */
  abort(): Promise<void>;
}

/** `onFailure` is told of the first part that could not be sent. */
export function createParts(
  { calls, leftovers }: { calls: S3Calls; leftovers: Leftovers },
  key: string,
  signal: AbortSignal,
  onFailure: (err: unknown) => void,
): Parts {
  const mark = crypto.randomUUID();
  const etags: string[] = [];
  const running = new Set<Promise<void>>();
  let upload_id: string | null = null;
  let completed = false;

  const begin = async (): Promise<string> => {
    const { text } = await calls.send({
      method: "POST",
      key,
      query: { uploads: "" },
      headers: { [UPLOAD_MARK]: mark },
    });
    const id = textOf(text, "UploadId");
    if (id === null) throw new AppError("unavailable", "the object store began no upload");
    return id;
  };
  const sendPart = async (id: string, number: number, bytes: Uint8Array): Promise<void> => {
    const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
    const { headers } = await calls.send({
      method: "PUT",
      key,
      query: { partNumber: String(number), uploadId: id },
      body: { bytes, sha256 },
      deadline_ms: PART_MS,
      signal,
    });
    etags[number - 1] = headers.get("etag") ?? "";
  };
  /** Whether the object that is there now is the one of this upload. */
  const isThere = async (): Promise<boolean> => {
    const { headers } = await calls.send({ method: "HEAD", key, expect: [404] });
    return headers.get(UPLOAD_MARK) === mark;
  };

  return {
    get started() {
      return upload_id !== null;
    },
    send: async (bytes, free) => {
      try {
        upload_id ??= await begin();
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
        query: { uploadId: upload_id ?? "" },
        headers: { "content-type": "application/xml" },
        body: { bytes, sha256 },
        deadline_ms: COMPLETE_MS,
        expect: [404],
      });
      // The first try may have worked without its answer coming through.
      if (status === 404 && !(await isThere()))
        throw new AppError("unavailable", "the object store has lost the upload", {
          headers: { "Retry-After": "2" },
        });
      completed = true;
    },
    abort: async () => {
      await Promise.all(running);
      if (upload_id !== null && !completed) await leftovers.abort(key, upload_id);
    },
  };
}
