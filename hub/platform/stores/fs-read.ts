import * as fs from "node:fs";
import { promisify } from "node:util";
import { checkRange } from "./put-body.ts";

const CHUNK_BYTES = 256 * 1024;
const openFile = promisify(fs.open);
const statFile = promisify(fs.fstat);
const closeFile = promisify(fs.close);
const readFile = (fd: number, block: Uint8Array, at: number): Promise<number> =>
  new Promise((resolve, reject) => {
    fs.read(fd, block, 0, block.length, at, (err, count) => (err ? reject(err) : resolve(count)));
  });

/** Closes the files of streams that were neither read to their end nor cancelled. */
const forgotten = new FinalizationRegistry((file: { close(): Promise<void> }) => {
  void file.close().catch(() => {});
});

/**
 * The bytes `start..end` (both included, cut at the end of the file) of `path`. The file is opened before this
 * resolves, so the reader gets one whole object even when it is replaced or deleted meanwhile.
 *
 * Plain descriptors on purpose: Bun throws an uncaught error when a FileHandle is collected before it was closed, and
 * an answer that nobody reads, to a HEAD request or to a client that left, must not end the hub.
 */
export async function streamFile(
  path: string,
  range?: { start: number; end: number },
): Promise<ReadableStream<Uint8Array>> {
  checkRange(range);
  const fd = await openFile(path, "r");
  let closing: Promise<void> | undefined;
  const file = {
    close: () => {
      closing ??= closeFile(fd);
      return closing;
    },
  };
  try {
    if (!(await statFile(fd)).isFile())
      throw Object.assign(new Error(`${path} is not a file`), { code: "ENOENT" });
  } catch (err) {
    await file.close();
    throw err;
  }
  let at = range?.start ?? 0;
  const end = range ? range.end + 1 : Number.POSITIVE_INFINITY;
  const stream = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const block = new Uint8Array(Math.min(CHUNK_BYTES, end - at));
          const count = await readFile(fd, block, at);
          at += count;
          if (count > 0) controller.enqueue(block.subarray(0, count));
          if (count > 0 && at < end) return;
        } catch (err) {
          await file.close();
          throw err;
        }
        await file.close();
        controller.close();
      },
      cancel: () => file.close(),
    },
    { highWaterMark: 0 },
  );
  forgotten.register(stream, file);
  return stream;
}
