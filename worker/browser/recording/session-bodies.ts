import { mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import type { Clock } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { MOST_BODIES_BYTES, MOST_BODY_BYTES } from "#shared/recording/requests.ts";
import type { SpooledBody } from "#worker/upload/asset-sink.ts";
import type { RecordingPlace } from "#worker/upload/recording-tail.ts";
import { putSessionBody } from "#worker/upload/session-body.ts";
import type { CdpSession } from "../cdp/connection.ts";
import { readBody } from "../record/read-body.ts";
import { createReadQueue } from "../record/read-queue.ts";
import { createSpool, dropBody } from "../record/spool.ts";
import type { TraceEntry } from "../record/trace-entry.ts";

/** What the note of a request says of its body. */
export type BodyNote = { _body: string } | { _body_missing: string };

/** A request that has ended, with the session that can give its body. */
export interface EndedRequest {
  session: CdpSession;
  id: string;
  entry: TraceEntry;
}

/** The bodies that a session's pages receive, on their way to the hub (rules/recordings#bodies-of-a-session). */
export interface SessionBodies {
  /** Reads the body, if there is one, and says what became of it; at once where there is nothing to read. */
  take(request: EndedRequest, note: (body: BodyNote) => void): void;
  /** Waits for what is on its way, for a while, and removes the rest. Idempotent; never rejects. */
  close(): Promise<void>;
}

export interface SessionBodiesDeps {
  /** Where bodies lie until the hub has them; this one's own. */
  dir: string;
  place: RecordingPlace;
  /** Resolves when the hub has the beginning of the recording, without which it takes no body. */
  begun: Promise<void>;
  clock: Clock;
  log: Log;
}

/** A lane waits for the last bodies of its session: nobody else gets it meanwhile. */
const LAST_MS = 15_000;
const NO_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

const MISSING = {
  reading: "it was not read before the session ended",
  room: `a session keeps at most ${MOST_BODIES_BYTES} bytes of bodies, of at most ${MOST_BODY_BYTES} bytes each`,
  gone: "the browser had given it up",
};

export function createSessionBodies(deps: SessionBodiesDeps): SessionBodies {
  const { dir, place, clock, log } = deps;
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const over = new AbortController();
  const spool = createSpool({ dir, max_bytes: MOST_BODIES_BYTES, clock });
  const failed = (err: unknown) =>
    log.warn({ err: errorMessage(err) }, "a body of a session was not kept");
  const reads = createReadQueue(clock, failed);
  const sends = createReadQueue(clock, failed);
  const known = new Set<string>();
  let bytes = 0;
  let closing: Promise<void> | null = null;

  const send = async (body: SpooledBody, mime: string) => {
    await deps.begun;
    const why = await putSessionBody({ clock, signal: over.signal }, place, { body, mime });
    dropBody(body);
    // The hub leaves out of the HAR what it does not have.
    if (why !== null) log.info({ reason: why }, "a body of a session was not stored");
  };
  const keep = (body: SpooledBody, mime: string): BodyNote => {
    const { sha256, size } = body;
    const is_known = known.has(sha256);
    const fits = size <= MOST_BODY_BYTES && bytes + size <= MOST_BODIES_BYTES;
    if (is_known || !fits) dropBody(body);
    if (is_known) return { _body: sha256 };
    if (!fits) return { _body_missing: MISSING.room };
    bytes += size;
    known.add(sha256);
    sends.add(size, () => send(body, mime));
    return { _body: sha256 };
  };
  return {
    take: ({ session, id, entry }, note) => {
      const { response, method, received } = entry;
      if (response === null || method === "HEAD" || NO_BODY.has(response.status)) return;
      if (closing !== null) return note({ _body_missing: MISSING.reading });
      if (received > MOST_BODY_BYTES) return note({ _body_missing: MISSING.room });
      note({ _body_missing: MISSING.reading });
      reads.add(received, async () => {
        const read = await readBody([session], id, spool, { bytes: received > 0, at_least: 0 });
        if ("body" in read) note(keep(read.body, response.mime));
        else if ("reason" in read) note({ _body_missing: missingFor(read.reason) });
        else note({ _body_missing: "it was empty" });
      });
    },
    close: () => {
      closing ??= (async () => {
        const late = clock.sleep(LAST_MS, over.signal);
        await Promise.race([reads.drained().then(sends.drained), late]);
        over.abort();
        await rm(dir, { recursive: true, force: true }).catch(() => {});
      })();
      return closing;
    },
  };
}

const missingFor = (reason: string): string =>
  reason === "spool_full" ? MISSING.room : MISSING.gone;
