import { AppError } from "#shared/kit/errors.ts";
import type { ObjectInfo, PutOptions } from "./objects.ts";

/** The chunks of a body; always ends the source, and turns its failure into a bad request. */
export async function* chunksOf(
  body: ReadableStream<Uint8Array> | Uint8Array,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  if (body instanceof Uint8Array) {
    signal?.throwIfAborted();
    yield body;
    return;
  }
  const reader = body.getReader();
  const abort = () => void reader.cancel(signal?.reason).catch(() => {});
  signal?.addEventListener("abort", abort, { once: true });
  if (signal?.aborted) abort();
  let done = false;
  try {
    while (!done) {
      const next = await reader.read().catch((cause: unknown) => {
        signal?.throwIfAborted();
        throw new AppError("bad_request", "the body broke off before its end", { cause });
      });
      signal?.throwIfAborted();
      done = next.done;
      if (next.value) yield next.value;
    }
  } finally {
    signal?.removeEventListener("abort", abort);
    if (!done) void reader.cancel().catch(() => {});
  }
}

/** @throws AppError invalid when the whole body is not what was announced. */
export function checkBody(info: ObjectInfo, { size, sha256 }: PutOptions): void {
  if (size !== undefined && info.size !== size)
    throw new AppError("invalid", `body has ${info.size} bytes, ${size} were announced`);
  if (sha256 !== undefined && info.sha256 !== sha256.toLowerCase())
    throw new AppError("invalid", `body has sha256 ${info.sha256}, ${sha256} was announced`);
}

export const bodyTooLong = (max_bytes: number) =>
  new AppError("too_large", `body is longer than ${max_bytes} bytes`);

/** @throws AppError bad_request unless `0 <= start <= end`. */
export function checkRange(range: { start: number; end: number } | undefined): void {
  if (range && !(Number.isInteger(range.start) && range.start >= 0 && range.end >= range.start))
    throw new AppError("bad_request", "range must be start..end with 0 <= start <= end");
}
