import type { CdpConnection, Protocol } from "../cdp/connection.ts";
import type { BodySource } from "./ledger.ts";
import { type PartPosition, type PartStore, partPosition, partSink } from "./parts.ts";
import type { Pause } from "./pauses.ts";
import { lossReason } from "./read-body.ts";
import type { RequestEntry } from "./requests.ts";

/** Larger media goes on at once and is followed as a stream: taking it whole would keep the player waiting. */
const MAX_TAKEN_BYTES = 64 * 1024 * 1024;
/** A player waits for its range; a response from a server this slow is no longer held for our sake. */
const TAKE_TIMEOUT_MS = 60_000;

export interface MediaDeps {
  connection: CdpConnection;
  parts: PartStore;
  find(request_id: string): RequestEntry | null;
  source(entry: RequestEntry): BodySource;
}

export interface MediaTap {
  pause: Pause;
  /** Number of bodies that are being taken at this moment. */
  settled(): Promise<void>;
}

/**
 * Media is read while it is paused at the browser's root (rules/capture#media-in-ranges): a player throttles and cancels its
 * ranges, so their ends never come and reading them later gave 0.1 % of a file.
 */
export function tapMedia(deps: MediaDeps): MediaTap {
  const { root } = deps.connection;
  const active = new Map<Promise<void>, RequestEntry | null>();

  const onPaused = async (
    entry: RequestEntry | null,
    p: Protocol.Fetch.RequestPausedEvent,
  ): Promise<void> => {
    const headers = new Map(
      (p.responseHeaders ?? []).map(({ name, value }) => [name.toLowerCase(), value]),
    );
    const position = p.responseErrorReason
      ? null
      : partPosition(p.responseStatusCode ?? 0, headers);
    if (entry && !entry.handled && position && isTakeable(position) && !entry.refused)
      await take(entry, p, headers, position);
    root.post("Fetch.continueRequest", { requestId: p.requestId });
  };
  const take = async (
    entry: RequestEntry,
    p: Protocol.Fetch.RequestPausedEvent,
    headers: Map<string, string>,
    position: PartPosition,
  ): Promise<void> => {
    // The request's own events come after the pause is over; by its end it must be marked as taken.
    entry.handled = true;
    const mime = headers.get("content-type") ?? "";
    const source = { ...deps.source(entry), mime, status: p.responseStatusCode ?? null };
    const file = deps.parts.file(source, position);
    try {
      const sink = partSink(file.coverage, position.start);
      await root.sendBody("Fetch.getResponseBody", { requestId: p.requestId }, sink, {
        timeout_ms: TAKE_TIMEOUT_MS,
      });
    } catch (err) {
      // A cancelled range is the player's choice; the bytes may come with another one.
      entry.handled = false;
      const reason = lossReason(err);
      file.reason = reason === "evicted" ? file.reason : reason;
    }
  };
  return {
    pause: {
      type: "Media",
      stage: "Response",
      takes: (p) => {
        const entry = p.networkId ? deps.find(p.networkId) : null;
        const work = onPaused(entry, p).finally(() => active.delete(work));
        active.set(work, entry);
        return true;
      },
    },
    settled: async () => {
      // The browser never returns the body of a player that is gone.
      await Promise.all([...active].map(([work, entry]) => (entry?.orphaned ? undefined : work)));
    },
  };
}

const isTakeable = ({ length }: PartPosition): boolean =>
  length !== null && length > 0 && length <= MAX_TAKEN_BYTES;
