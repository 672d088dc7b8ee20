import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { chunksOf } from "#shared/archive/streams.ts";
import { abortAfter, type Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { limitText } from "#shared/kit/words.ts";
import { UpdateRefused } from "./stage.ts";

/** The archive has half a megabyte: a link that takes longer is broken. */
const DEADLINE_MS = 120_000;

export interface Wanted {
  url: string;
  /** A file that does not exist yet. */
  to: string;
  max_bytes: number;
  /** Two minutes where nothing is said. */
  deadline_ms?: number;
}

/** `fetch`, or the hub's own. */
type Get = (url: string, init: BunFetchRequestInit) => Promise<Response>;

/**
 * Downloads `url` into the file `to`, at most `max_bytes`; its SHA-256, and the headers of the answer.
 * @throws UpdateRefused when it is larger, missing, cut off, or takes longer than `deadline_ms`.
 */
export async function download(
  { clock, signal, get }: { clock: Clock; signal: AbortSignal; get: Get },
  { url, to, max_bytes, deadline_ms = DEADLINE_MS }: Wanted,
): Promise<{ sha256: string; headers: Headers }> {
  const done = new AbortController();
  const late = abortAfter(clock, deadline_ms, done.signal);
  try {
    const answer = await get(url, { signal: AbortSignal.any([late, signal]) });
    if (!answer.ok || answer.body === null) {
      const detail = (await answer.text().catch(() => "")).slice(0, 300);
      throw new UpdateRefused(`${url} answered ${answer.status} ${detail}`.trim());
    }
    const tooLarge = () =>
      new UpdateRefused(`${url} is larger than ${limitText(max_bytes)}, the maximum`);
    const length = Number(answer.headers.get("content-length"));
    if (length > max_bytes) {
      await answer.body.cancel();
      throw tooLarge();
    }
    const hash = createHash("sha256");
    const file = await open(to, "wx", 0o600);
    try {
      let size = 0;
      for await (const chunk of chunksOf(answer.body)) {
        size += chunk.byteLength;
        if (size > max_bytes) throw tooLarge();
        hash.update(chunk);
        await file.writeFile(chunk);
      }
      if (length > 0 && size < length)
        throw new UpdateRefused(`${url} was cut off: ${size} of ${length} bytes arrived`);
    } finally {
      await file.close();
    }
    return { sha256: hash.digest("hex"), headers: answer.headers };
  } catch (err) {
    if (err instanceof UpdateRefused || signal.aborted) throw err;
    const why = late.aborted
      ? `no complete answer within ${deadline_ms / 1_000} s`
      : errorMessage(err);
    throw new UpdateRefused(`could not fetch ${url}: ${why}`, { cause: err });
  } finally {
    done.abort();
  }
}
