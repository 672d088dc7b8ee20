import { FlotillaError } from "#shared/client/errors.ts";
import type { Http } from "#shared/client/http.ts";
import type { Clock } from "#shared/kit/clock.ts";
import { DeadlineError } from "#shared/kit/clock.ts";
import { type HubFiles, hubFilesHttp } from "../hub-files.ts";

/** The capture is not available; the message goes into the error of the job, or of the call that opens the session. */
export class ReplayError extends Error {
  override readonly name = "ReplayError";
}

/** A read is given up when no byte arrives for this long. */
const STALL_MS = 30_000;

/** Opens one thing that the hub has. */
export type OpenAtHub = (http: Pick<Http, "open">, signal: AbortSignal) => Promise<Response>;

/** What the hub answers, piece by piece. @throws ReplayError when it has nothing there, or breaks off. */
export async function* readFromHub(
  hub: HubFiles,
  open: OpenAtHub,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): AsyncGenerator<Uint8Array> {
  const over = new AbortController();
  const stalled = new AbortController();
  let seen = 0;
  const watch = async () => {
    for (let before = -1; !over.signal.aborted && before !== seen; ) {
      before = seen;
      await clock.sleep(STALL_MS, over.signal);
    }
    if (!over.signal.aborted) stalled.abort(new DeadlineError("a read from the hub", STALL_MS));
  };
  void watch();
  try {
    const http = await hubFilesHttp(hub);
    const { body } = await open(http, AbortSignal.any([signal, stalled.signal])).catch(refuse);
    for await (const chunk of body ?? []) {
      seen += chunk.byteLength;
      yield chunk;
    }
  } finally {
    over.abort();
  }
}

function refuse(err: unknown): never {
  if (!(err instanceof FlotillaError) || err.status === 0) throw err;
  if (err.status === 404) throw new ReplayError("the hub does not have it any more");
  throw new ReplayError(`the hub answered ${err.status}`);
}
