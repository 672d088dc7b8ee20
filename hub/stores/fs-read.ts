import { open } from "node:fs/promises";
import { badRequest } from "#shared/errors.ts";

const CHUNK_BYTES = 256 * 1024;

/**
 * The bytes `start..end` (both included, cut at the end of the file) of `path`. The file is opened before this
 * resolves, so the reader gets one whole object even when it is replaced or deleted meanwhile.
 */
export async function streamFile(
  path: string,
  range?: { start: number; end: number },
): Promise<ReadableStream<Uint8Array>> {
  if (range && !(Number.isInteger(range.start) && range.start >= 0 && range.end >= range.start))
    throw badRequest("range must be start..end with 0 <= start <= end");
  const handle = await open(path, "r");
  let at = range?.start ?? 0;
  const end = range ? range.end + 1 : Number.POSITIVE_INFINITY;
  try {
    if (!(await handle.stat()).isFile()) throw Object.assign(new Error(`${path} is no file`), { code: "ENOENT" });
  } catch (err) {
    await handle.close();
    throw err;
  }
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const want = Math.min(CHUNK_BYTES, end - at);
        const { bytesRead, buffer } =
          want > 0 ? await handle.read(new Uint8Array(want), 0, want, at) : EMPTY;
        at += bytesRead;
        if (bytesRead > 0) controller.enqueue(buffer.subarray(0, bytesRead));
        if (bytesRead > 0 && at < end) return;
        await handle.close();
        controller.close();
      },
      cancel: () => handle.close(),
    },
    { highWaterMark: 0 },
  );
}

const EMPTY = { bytesRead: 0, buffer: new Uint8Array(0) };
