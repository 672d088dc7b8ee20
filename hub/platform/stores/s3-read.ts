import { abortAfter, type Clock } from "#shared/kit/clock.ts";
import { AppError } from "#shared/kit/errors.ts";
import { checkRange } from "./put-body.ts";
import type { S3Calls } from "./s3-calls.ts";

/** If no byte comes for this long while a reader waits, the answer breaks off. */
const SILENT_MS = 30_000;

/** Ends the requests of streams that were neither read to their end nor cancelled. */
const forgotten = new FinalizationRegistry((given_up: AbortController) => given_up.abort());

const empty = () => new Blob([]).stream();

/** As `ObjectStore.read`: one request, passed on at the reader's pace. */
export async function readStream(
  calls: S3Calls,
  key: string,
  range?: { start: number; end: number },
): Promise<ReadableStream<Uint8Array> | null> {
  checkRange(range);
  const given_up = new AbortController();
  const response = await calls.open({
    method: "GET",
    key,
    ...(range && { headers: { range: `bytes=${range.start}-${range.end}` } }),
    signal: given_up.signal,
    expect: [404, 416],
  });
  const { status, body, headers } = response;
  if (status === 404 || status === 416) {
    const text = await response.text();
    if (text.includes("NoSuchBucket")) throw new AppError("unavailable", "the bucket is gone");
    return status === 404 ? null : empty();
  }
  if (!body) return empty();
  const length = headers.get("content-length");
  return watched(calls.clock, body, length === null ? null : Number(length), given_up);
}

/** `body` with a limit on silence, and an error instead of an early end. */
function watched(
  clock: Clock,
  body: ReadableStream<Uint8Array>,
  length: number | null,
  given_up: AbortController,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let seen = 0;
  const next = async () => {
    const done = new AbortController();
    const late = abortAfter(clock, SILENT_MS, done.signal);
    late.addEventListener("abort", () => given_up.abort(late.reason), { once: true });
    try {
      return await reader.read();
    } finally {
      done.abort();
    }
  };
  const stream = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const { done, value } = await next();
        seen += value?.byteLength ?? 0;
        if (value) controller.enqueue(value);
        if (!done) return;
        if (length !== null && seen !== length)
          throw new AppError(
            "unavailable",
            `the object broke off after ${seen} of ${length} bytes`,
          );
        controller.close();
      },
      cancel: (reason) => given_up.abort(reason),
    },
    { highWaterMark: 0 },
  );
  forgotten.register(stream, given_up);
  return stream;
}
