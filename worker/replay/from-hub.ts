import type { Clock } from "#shared/kit/clock.ts";
import { DeadlineError } from "#shared/kit/clock.ts";
import { fetchHub } from "#shared/protocol/trust.ts";

/** Where this worker's hub serves files. */
export interface HubFiles {
  base_url: Promise<string>;
  worker_id: string;
  upload_token: string;
}

/** The capture is not available; the message goes into the error of the job, or of the call that opens the session. */
export class ReplayError extends Error {
  override readonly name = "ReplayError";
}

/** A read is given up when no byte arrives for this long. */
const STALL_MS = 30_000;

/** What the hub has at `path`, piece by piece. @throws ReplayError when it has nothing there, or breaks off. */
export async function* readFromHub(
  { base_url, upload_token }: HubFiles,
  path: string,
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
    const response = await fetchHub(`${await base_url}${path}`, {
      headers: { Authorization: `Bearer ${upload_token}` },
      redirect: "manual",
      signal: AbortSignal.any([signal, stalled.signal]),
    });
    if (response.status === 404) throw new ReplayError("the hub does not have it any more");
    if (!response.ok) throw new ReplayError(`the hub answered ${response.status}`);
    for await (const chunk of response.body ?? []) {
      seen += chunk.byteLength;
      yield chunk;
    }
  } finally {
    over.abort();
  }
}
